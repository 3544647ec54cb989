import { Hono } from 'hono';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createCookies } from '../../api/identity/sign-in-cookies.ts';
import { issueSignInLink } from '../../commands/identity/sign-in-link.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();

/** Returns the session cookie that a platform with this PUBLIC_URL sets, as the parts of the Set-Cookie header. */
const cookieOf = async (publicUrl: string): Promise<readonly string[]> => {
  const cookies = createCookies(publicUrl);
  const app = new Hono().get('/', (c) => {
    cookies.setSession(c, 'value');
    return c.text('');
  });
  return (await app.request('/')).headers.getSetCookie()[0]!.split('; ');
};

test('under https, the session cookie has the prefix __Host- and all attributes that protect it', async () => {
  const [pair, ...attributes] = await cookieOf('https://annals.example');
  assert.is(pair, '__Host-annals_session=value');
  assert.equal([...attributes].sort(), ['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax', 'Secure']);
  assert.is((await cookieOf('https://annals.example:8443'))[0], '__Host-annals_session=value');
});

test('under http, the name of the session cookie contains the port, so that two instances on one machine do not share it', async () => {
  const [pair, ...attributes] = await cookieOf('http://127.0.0.1:4100');
  assert.is(pair, 'annals_session_4100=value');
  assert.equal([...attributes].sort(), ['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Lax']);
});

const signInByKey = (headers: Record<string, string> = OWN_PAGE, session = '', return_to?: string) =>
  p.send('POST', '/auth/key', {
    key: '',
    headers: { ...headers, ...(session ? { cookie: session } : {}) },
    body: { key: p.key, ...(return_to === undefined ? {} : { return_to }) },
  });

const sessionOf = ({ headers }: { headers: Headers }): string => headers.getSetCookie()[0]!.split(';')[0]!;

test('each sign-in sets a new cookie, even if the browser sends one that it already has', async () => {
  const first = sessionOf(await signInByKey());
  const second = sessionOf(await signInByKey(OWN_PAGE, first));
  const planted = sessionOf(await signInByKey(OWN_PAGE, 'annals_session=c0000000000000000000000aa.planted'));
  assert.is(new Set([first, second, planted]).size, 3);
  const code = await issueSignInLink(p.systemContext());
  const linked = await p.send('POST', '/auth/link', { key: '', headers: { ...OWN_PAGE, cookie: second }, body: { code } });
  assert.not.ok([first, second, planted].includes(sessionOf(linked)));
});

/** Requests that another site, another host of the same site, or a program sends. */
const FOREIGN: readonly Record<string, string>[] = [
  { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
  { origin: 'http://sub.annals.test', 'sec-fetch-site': 'same-site' },
  { origin: 'http://annals.test', 'sec-fetch-site': 'cross-site' },
  { origin: 'http://annals.test:8080' },
  { origin: 'https://annals.test' },
  { origin: 'null' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  {},
];

test('sign-ins, sign-outs and changes by cookie are refused if they do not come from a page of the platform', async () => {
  const events = p.eventsOf('SignedIn', 'SignedOut', 'AgentCreated').length;
  const code = await issueSignInLink(p.systemContext());
  for (const headers of FOREIGN) {
    const name = JSON.stringify(headers);
    assert.is((await signInByKey(headers)).status, 403, name);
    const own = { ...headers, cookie: p.cookie };
    assert.is((await p.send('POST', '/auth/link', { key: '', headers, body: { code } })).status, 403, name);
    assert.is((await p.send('POST', '/auth/logout', { key: '', headers: own })).status, 403, name);
    const body = { name: 'Foreign', slug: 'foreign' };
    assert.is((await p.send('POST', `${p.tenant}/agents`, { key: '', headers: own, body })).status, 403, name);
    const form = await p.submit(`/console/run/createAgent?tenant_id=${p.tenant_id}`, { ':tenant_id': p.tenant_id }, headers);
    assert.is(form.status, 403, name);
  }
  assert.is(p.eventsOf('SignedIn', 'SignedOut', 'AgentCreated').length, events);
  assert.is((await p.open(p.base)).status, 200, 'the session is still there');
});

/** Values of return_to that would lead away from the console. */
const ELSEWHERE = [
  'https://elsewhere.example/console',
  '//elsewhere.example/console',
  '/\\elsewhere.example',
  '\\\\elsewhere.example',
  'http:elsewhere.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '/console//elsewhere.example',
  '/console\\..\\..',
  '/console@elsewhere.example',
  '/console.elsewhere.example',
  '/console\r\nSet-Cookie: a=b',
  '/console/\u0000',
  '/console/é',
  ' /console',
  '/docs',
  '/CONSOLE/x',
  '',
];

test('after a sign-in by form, a return_to that leads away from the console is ignored', async () => {
  for (const to of ELSEWHERE) {
    const answer = await p.submit('/console/sign-in', { key: p.key, return_to: to }, undefined, '');
    assert.equal([answer.status, answer.headers.get('location')], [303, '/console'], JSON.stringify(to));
    const asked = await p.open(`/console/sign-in?return_to=${encodeURIComponent(to)}`, '');
    assert.match(asked.text, /name="return_to" value="\/console"/, JSON.stringify(to));
    assert.is(asked.headers.getSetCookie().length, 0);
  }
});

afterLastTest(() => p.close());

test.run();
