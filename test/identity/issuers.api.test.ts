import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { identityClaims } from '../../infra/oidc/issuer.ts';
import { CLIENT, signInAtIssuer, startIssuer } from '../fixtures/oidc-issuer.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

const EMAIL = 'ada@example.com';
const UNSAID = /no claim email_verified.*OIDC_TRUST_EMAIL=true/;

type Claims = Readonly<Record<string, unknown>>;
/** What an issuer says of a user; the refusal, or null if the user may sign in; and the same with OIDC_TRUST_EMAIL. */
type Row = readonly [claims: Claims, refused: RegExp | null, trusted: RegExp | null];

const ISSUERS: Readonly<Record<string, Row>> = {
  // https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
  'Entra ID': [{ email: EMAIL, preferred_username: EMAIL, oid: '1', tid: '2', ver: '2.0' }, UNSAID, null],
  'Entra ID, user without a mailbox': [{ preferred_username: EMAIL, oid: '1' }, /no e-mail address.*claim email/, /no e-mail address/],
  // https://learn.microsoft.com/entra/identity-platform/optional-claims-reference
  'Entra ID with xms_edov': [{ email: EMAIL, xms_edov: true }, null, null],
  'Entra ID with xms_edov as a number': [{ email: EMAIL, xms_edov: '1' }, null, null],
  'Entra ID with a foreign domain': [{ email: EMAIL, xms_edov: false }, /xms_edov is false/, /xms_edov is false/],
  'Entra ID with a foreign domain as a number': [{ email: EMAIL, xms_edov: '0' }, /xms_edov is false/, /xms_edov is false/],
  // https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/
  Okta: [{ email: EMAIL, email_verified: true, zoneinfo: 'Europe/Berlin' }, null, null],
  'Okta, imported user': [{ email: EMAIL, email_verified: false }, /email_verified is false.*verify it there/, /email_verified is false/],
  // https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload
  Google: [{ email: EMAIL, email_verified: true, hd: 'example.com' }, null, null],
  // https://www.keycloak.org/docs/latest/server_admin/: a user that an administrator creates is not verified.
  Keycloak: [{ email: EMAIL, email_verified: false, preferred_username: 'ada' }, /email_verified is false/, /email_verified is false/],
  'Keycloak, verified': [{ email: 'Ada@Example.com', email_verified: true }, null, null],
  // https://auth0.com/docs/manage-users/user-accounts/user-profiles/sample-user-profiles
  Auth0: [{ email: EMAIL, email_verified: true, nickname: 'ada' }, null, null],
  // https://docs.gitlab.com/integration/openid_connect_provider/
  GitLab: [{ email: EMAIL, email_verified: true, groups_direct: ['ops'] }, null, null],
  'GitLab, private address': [{ nickname: 'ada', sub_legacy: '1' }, /no e-mail address/, /no e-mail address/],
  // https://docs.aws.amazon.com/cognito/latest/developerguide/userinfo-endpoint.html: texts instead of booleans.
  Cognito: [{ email: EMAIL, email_verified: 'true' }, /email_verified is "true", but must be true/, /is "true"/],
  'Cognito, unverified': [{ email: EMAIL, email_verified: 'false' }, /email_verified is "false"/, /is "false"/],
  // https://learn.microsoft.com/windows-server/identity/ad-fs/: claims as the administrator maps them.
  'AD FS': [{ email: EMAIL, upn: EMAIL }, UNSAID, null],
  'an issuer that sends null': [{ email: EMAIL, email_verified: null }, UNSAID, null],
  'an issuer that sends a number': [{ email: EMAIL, email_verified: 1 }, /email_verified is 1, but must be true/, /is 1/],
  'an address that is none': [
    { email: 'ada', email_verified: true },
    /claim email of the issuer is not an e-mail address/,
    /is not an e-mail/,
  ],
  // https://www.unicode.org/reports/tr36/: in lower case, these are the addresses of other people.
  'an address with a Kelvin sign': [
    { email: 'ada@\u212Aexample.com', email_verified: true },
    /is not an e-mail address/,
    /is not an e-mail/,
  ],
  'an address with a dotted capital i': [
    { email: '\u0130da@example.com', email_verified: true },
    /is not an e-mail address/,
    /is not an e-/,
  ],
  'an address with an invisible character': [{ email: `${EMAIL}\u200b`, email_verified: true }, /is not an e-mail address/, /is not an e-/],
  'a time of issue as a text': [{ email: EMAIL, email_verified: true, iat: '0' }, /claim iat must be a number/, /claim iat/],
  'a list of addresses': [{ email: [EMAIL], email_verified: true }, /is not an e-mail address/, /is not an e-mail address/],
};

const outcomeOf = (claims: Claims, trustsEmail: boolean): string => {
  try {
    return identityClaims(claims, { now: Date.now(), trustsEmail }).email;
  } catch (error) {
    return (error as Error).message;
  }
};

test('users of common issuers with their usual claims may sign in, or are told which claim is missing and what to do', () => {
  for (const [name, [claims, refused, trusted]] of Object.entries(ISSUERS))
    for (const [trustsEmail, expected] of [[false, refused] as const, [true, trusted] as const])
      assert.match(outcomeOf(claims, trustsEmail), expected ?? /^ada@example\.com$/, `${name}, OIDC_TRUST_EMAIL=${trustsEmail}`);
});

/** Signs in with a browser. Returns the status and the text of the answer to the callback. */
const signInWith = async (claims: Claims, { inIdToken, trusts }: { inIdToken: boolean; trusts: boolean }) => {
  const issuer = await startIssuer({ claimsOf: () => claims, inIdToken });
  const config = { oidcIssuer: issuer.url, oidcClientId: CLIENT.id, oidcClientSecret: CLIENT.secret, oidcTrustEmail: trusts };
  const p = await createTestPlatform({ issuer: config });
  try {
    await p.send('POST', '/admin/allowed-accounts', { body: { email: EMAIL } });
    const started = await p.send('GET', '/auth/login', { key: '' });
    const cookie = started.headers.getSetCookie()[0]!.split(';')[0]!;
    const back = await signInAtIssuer(started.headers.get('location')!, 'ada');
    return await p.send('GET', back.replace('http://annals.test', ''), { key: '', headers: { cookie } });
  } finally {
    await p.close();
    await issuer.close();
  }
};

test('a browser signs in at an issuer with claims in the ID token or at its userinfo endpoint, as OIDC_TRUST_EMAIL allows', async () => {
  const entra = ISSUERS['Entra ID']![0];
  const refused = await signInWith(entra, { inIdToken: true, trusts: false });
  assert.is(refused.status, 401, refused.text);
  assert.match(refused.text, UNSAID);
  assert.is((await signInWith(entra, { inIdToken: true, trusts: true })).status, 303);
  assert.is((await signInWith(entra, { inIdToken: false, trusts: true })).status, 303);
  assert.is((await signInWith(ISSUERS.Google![0], { inIdToken: true, trusts: false })).status, 303);
  assert.is((await signInWith(ISSUERS.Cognito![0], { inIdToken: false, trusts: true })).status, 401);
});

test('if the issuer has another name than OIDC_ISSUER, as without the final slash, people read which one to set', async () => {
  const issuer = await startIssuer();
  const p = await createTestPlatform({ issuer: { oidcIssuer: issuer.url.replace('127.0.0.1', 'localhost'), oidcClientId: CLIENT.id } });
  const answer = await p.send('GET', '/auth/login', { key: '' });
  assert.is(answer.status, 409, answer.text);
  assert.ok(answer.text.includes(`The issuer calls itself ${issuer.url}: the operator must set OIDC_ISSUER to exactly this`), answer.text);
  await p.close();
  await issuer.close();
});

test.run();
