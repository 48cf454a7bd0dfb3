/** A server that speaks TLS as well. */
import { freePort } from '../../../scripts/masters/wait.js';
import { byHand } from '../../support/real.js';
import type { Certificate } from './certificates.js';

/** Opens a port for TLS. @param asks  whether the server asks clients for a certificate @returns its number */
export async function openTlsPort(
  port: number,
  certificate: Certificate,
  asks: 'yes' | 'no',
): Promise<number> {
  const [hand, tlsPort] = [byHand(port), await freePort()];
  const settings = {
    'tls-ca-cert-file': certificate.caFile,
    'tls-cert-file': certificate.certFile,
    'tls-key-file': certificate.keyFile,
    'tls-auth-clients': asks,
    'tls-port': `${tlsPort}`,
  };
  for (const [name, value] of Object.entries(settings)) await hand.config('SET', name, value);
  hand.disconnect();
  return tlsPort;
}
