/** Who is let in, and what is taken for an action of the page. */
import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import {
  type AccessTerms,
  enter,
  enterPage,
  refuseForgery,
  refuseOtherSite,
} from '../../../lib/dashboard/http/access.js';
import type { Asked } from '../../../lib/dashboard/http/request.js';

const LOCAL = { host: 'localhost:7180' };
const TOKEN = 'a-token-of-24-characters';
const OPEN: AccessTerms = { token: undefined, authorize: undefined };

function asked(headers: Readonly<Record<string, string>>, from: string | undefined = '127.0.0.1'): Asked {
  return {
    ...{ method: 'GET', path: '/api/snapshot', wholePath: '/api/snapshot', query: new URLSearchParams() },
    header: (name) => headers[name],
    from,
    original: {} as IncomingMessage, // what authorize gets; nobody looks into it
    json: () => Promise.resolve({}),
  };
}

async function outcome(request: Asked, terms: AccessTerms): Promise<string | number> {
  const entry = await enter(request, terms);
  return 'by' in entry ? entry.by : entry.refused.status;
}

describe('access without token and authorize', () => {
  for (const host of ['localhost', 'localhost:7180', '127.0.0.1:7180', '[::1]:7180', 'LOCALHOST:1'])
    it(`from this machine to ${host}: let in`, async () => {
      expect(await outcome(asked({ host }), OPEN)).to.equal('local');
    });

  for (const from of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])
    it(`from ${from}: let in`, async () => {
      expect(await outcome(asked(LOCAL, from), OPEN)).to.equal('local');
    });

  for (const host of [
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example:7180',
    '10.0.0.1:7180',
    '',
  ])
    it(`to the host "${host}": refused, whatever name leads here (DNS rebinding)`, async () => {
      expect(await outcome(asked({ host }), OPEN)).to.equal(403);
    });

  for (const from of ['10.0.0.2', '::ffff:10.0.0.2', 'fe80::1', '128.0.0.1', undefined])
    it(`from ${from ?? 'an address that is not known'}: refused`, async () => {
      const request = { ...asked(LOCAL), from };
      expect(await outcome(request, OPEN)).to.equal(403);
      expect(await enterPage(request, OPEN)).to.have.property('refused');
    });

  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-forwarded-host'])
    it(`passed on by a proxy (${name}): refused`, async () => {
      expect(await outcome(asked({ ...LOCAL, [name]: '127.0.0.1' }), OPEN)).to.equal(403);
    });
});

describe('access with a token', () => {
  const terms: AccessTerms = { token: TOKEN, authorize: undefined };
  const far = (headers: Readonly<Record<string, string>>): Asked => asked(headers, '10.0.0.2');

  it('whoever has it is let in, from anywhere and by any name', async () => {
    expect(await outcome(far({ host: 'locks.example', authorization: `Bearer ${TOKEN}` }), terms)).to.equal(
      'token',
    );
  });

  for (const authorization of [
    '',
    'Bearer',
    `Basic ${TOKEN}`,
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(1)}`,
    TOKEN,
  ])
    it(`"${authorization}": refused, from this machine too`, async () => {
      expect(await outcome(asked({ ...LOCAL, authorization }), terms)).to.equal(401);
    });

  it('the page itself is given without it: there is nothing in it', async () => {
    expect(await enterPage(far({ host: 'locks.example' }), terms)).to.deep.equal({ by: '' });
  });
});

describe('access by authorize', () => {
  const answering = (by: string | false | null | undefined): AccessTerms => ({
    token: undefined,
    authorize: () => Promise.resolve(by),
  });
  const far = asked({ host: 'locks.example' }, '10.0.0.2');

  it('a name: let in under it', async () => {
    expect(await outcome(far, answering('ada'))).to.equal('ada');
    expect(await enterPage(far, answering('ada'))).to.deep.equal({ by: 'ada' });
  });

  for (const by of [false, null, undefined, ''] as const)
    it(`${JSON.stringify(by) ?? 'undefined'}: refused, from this machine too, and the page with it`, async () => {
      expect(await outcome(asked(LOCAL), answering(by))).to.equal(403);
      expect(await enterPage(asked(LOCAL), answering(by))).to.have.property('refused');
    });

  it('with a token as well, either lets in', async () => {
    const both = { ...answering(undefined), token: TOKEN };
    expect(await outcome(asked({ ...LOCAL, authorization: `Bearer ${TOKEN}` }), both)).to.equal('token');
    expect(await outcome(asked(LOCAL), both)).to.equal(401);
    expect(await outcome(far, { ...answering('ada'), token: TOKEN })).to.equal('ada');
  });
});

describe('requests of other sites', () => {
  const allowed: readonly Readonly<Record<string, string>>[] = [
    {},
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { origin: 'http://localhost:7180' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }, // a browser sends no such thing
  ];
  for (const headers of allowed)
    it(`${JSON.stringify(headers)}: not from another site`, () => {
      expect(refuseOtherSite(asked({ ...LOCAL, ...headers }))).to.equal(undefined);
    });

  const refused: readonly Readonly<Record<string, string>>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'odd' },
    { origin: 'https://evil.example' },
    { origin: 'http://localhost:7181' },
    { origin: 'null' },
  ];
  for (const headers of refused)
    it(`${JSON.stringify(headers)}: refused`, () => {
      expect(refuseOtherSite(asked({ ...LOCAL, ...headers }))?.status).to.equal(403);
    });

  it('an action needs its header, and JSON: what no form of another site can send', () => {
    const own = { 'x-quorate-dashboard': '1' };
    const type = { 'content-type': 'application/json; charset=utf-8' };
    expect(refuseForgery(asked({ ...own, ...type }))).to.equal(undefined);
    expect(refuseForgery(asked(type))?.status).to.equal(403);
    for (const wrong of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx'])
      expect(refuseForgery(asked({ ...own, 'content-type': wrong }))?.status).to.equal(415);
    expect(refuseForgery(asked(own))?.status).to.equal(415);
  });
});
