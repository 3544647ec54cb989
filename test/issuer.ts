import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';

export const CLIENT = { id: 'annals', secret: 'the secret of the client annals' };

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

const pairOf = (): Promise<Pair> => generateKeyPair('RS256', { extractable: true });

/** A user `somebody` has the address somebody@example.com; `unverified…` has one that nobody verified. */
const findAccount = (_: unknown, id: string) => ({
  accountId: id,
  claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: !id.startsWith('unverified'), name: `Name of ${id}` }),
});

/**
 * A real provider in process, with forms to sign in and to consent. Its first key is `keys[0]`; `sign` makes any token of it. The same
 * port with another key is a provider that rotated its keys.
 */
export const startIssuer = async ({ port = 0, kid = 'first', redirect = 'http://annals.test/auth/callback' } = {}) => {
  const pair = await pairOf();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, {
    jwks: { keys: [{ ...(await exportJWK(pair.privateKey)), kid, alg: 'RS256', use: 'sig' }] },
    clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [redirect] }],
    cookies: { keys: ['of the tests'] },
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    findAccount,
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  });
  const answer = provider.callback();
  const trouble: { path?: string; how?: 'fails' | 'says nothing' } = {};
  server.on('request', (incoming, outgoing) => {
    if (incoming.url !== trouble.path) return void answer(incoming, outgoing);
    if (trouble.how === 'fails') outgoing.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
  });

  const now = () => Math.floor(Date.now() / 1_000);
  const claims = { iss: url, aud: CLIENT.id, sub: 'somebody', email: 'somebody@example.com', email_verified: true };
  /** A token as the provider would sign it, but for what is said. */
  const sign = (said: JWTPayload = {}, header: Record<string, unknown> = {}, key: Parameters<SignJWT['sign']>[0] = pair.privateKey) =>
    new SignJWT({ ...claims, iat: now(), exp: now() + 300, ...said }).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(key);

  return {
    url,
    port: (server.address() as AddressInfo).port,
    publicKey: pair.publicKey,
    /** A path at which it does not answer as it should. */
    trouble,
    claims,
    sign,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;

/** A browser at the provider: signs in as somebody and consents. @returns where the provider sends it at last */
export const atIssuer = async (location: string, login: string): Promise<string> => {
  const jar = new Map<string, string>();
  const go = async (to: string, form?: Record<string, string>): Promise<Response> => {
    const answer = await fetch(to, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form ? { body: new URLSearchParams(form) } : {}),
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      jar.set(name!, value!);
    }
    return answer;
  };
  const home = new URL(location).origin;
  let at = location;
  for (let hops = 0; hops < 12; hops++) {
    const answer = await go(at);
    const next = answer.headers.get('location');
    if (next && new URL(next, home).origin !== home) return next;
    if (next) {
      at = new URL(next, home).href;
      continue;
    }
    const page = await answer.text();
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (!prompt) throw new Error(`the provider answers ${answer.status}: ${page.slice(0, 500)}`);
    const action = /action="([^"]+)"/.exec(page)![1]!;
    const sent = await go(new URL(action, home).href, { prompt, ...(prompt === 'login' ? { login, password: 'any' } : {}) });
    at = new URL(sent.headers.get('location')!, home).href;
  }
  throw new Error('the provider sends the browser around in circles');
};
