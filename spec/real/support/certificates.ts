/** Certificates for 127.0.0.1, made at run time: one in the repository would run out one day. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOST } from '../../../scripts/masters/wait.js';

/** A certificate, its key, and whom to trust to accept it. */
export interface Certificate {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

const DAYS = ['-days', '2'];
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const SAN = `subjectAltName=IP:${HOST}`;

/** A certificate that vouches for itself. */
export function certify(folder: string, name: string): Certificate {
  const { keyFile, certFile } = filesOf(folder, name);
  const subject = ['-subj', `/CN=${name}`, '-addext', SAN];
  openssl(['req', '-x509', ...NEW_KEY, '-keyout', keyFile, '-out', certFile, ...subject, ...DAYS]);
  return { caFile: certFile, certFile, keyFile };
}

/** A certificate that an authority vouches for. @param authority  made by `certify` */
export function certifyBy(authority: Certificate, folder: string, name: string): Certificate {
  const { keyFile, certFile } = filesOf(folder, name);
  const [requestFile, extensions] = [join(folder, `${name}.csr`), join(folder, `${name}.ext`)];
  writeFileSync(extensions, `${SAN}\n`);
  openssl(['req', '-new', ...NEW_KEY, '-keyout', keyFile, '-out', requestFile, '-subj', `/CN=${name}`]);
  const signer = ['-CA', authority.certFile, '-CAkey', authority.keyFile, '-CAcreateserial'];
  openssl([
    ...['x509', '-req', '-in', requestFile, '-out', certFile],
    ...[...signer, '-extfile', extensions, ...DAYS],
  ]);
  return { caFile: authority.certFile, certFile, keyFile };
}

/** What Node's TLS takes: whom to trust, and what to show of oneself. */
export function shown({ caFile, certFile, keyFile }: Certificate): Record<'ca' | 'cert' | 'key', Buffer> {
  return { ca: readFileSync(caFile), cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

function filesOf(folder: string, name: string): { readonly keyFile: string; readonly certFile: string } {
  return { keyFile: join(folder, `${name}-key.pem`), certFile: join(folder, `${name}-cert.pem`) };
}

function openssl(args: readonly string[]): void {
  const made = spawnSync('openssl', args);
  if (made.status !== 0) throw new Error(`openssl made no certificate: ${made.error ?? String(made.stderr)}`);
}
