import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueSignInLink } from '../../commands/identity/sign-in-link.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startConsole } from '../fixtures/console-platform.ts';

const p = await startConsole();

const sessionOf = ({ headers }: { headers: Headers }): string => headers.getSetCookie()[0]!.split(';')[0]!;

test('signing in with an API key opens the page that the visitor had requested', async () => {
  const answer = await p.submit('/console/sign-in', { key: p.key, return_to: `${p.base}/agents?q=x` }, undefined, '');
  assert.equal([answer.status, answer.headers.get('location')], [303, `${p.base}/agents?q=x`]);
  assert.is((await p.open(p.base, sessionOf(answer))).status, 200);
});

test('a form that was sent without a valid session is shown after the sign-in, which says that nothing was saved', async () => {
  const form = `/console/run/createAgent?tenant_id=${p.tenant_id}`;
  for (const session of ['', `${(await p.signIn()).slice(0, -4)}AAAA`]) {
    const sent = await p.submit('/console/run/createAgent', { ':tenant_id': p.tenant_id, '/name': 'A', '/slug': 'a' }, undefined, session);
    const location = sent.headers.get('location')!;
    assert.is(new URL(location, 'http://annals.test').searchParams.get('return_to'), form);
    assert.match((await p.open(location, session)).text, /The session has ended: [\s\S]+Nothing of the form was saved/);
    const answer = await p.submit('/console/sign-in', { key: p.key, return_to: form }, undefined, '');
    const page = await p.open(answer.headers.get('location')!, sessionOf(answer));
    assert.is(page.status, 200);
    assert.match(page.text, new RegExp(`name=":tenant_id" value="${p.tenant_id}"`));
  }
});

test('pages whose URLs have secrets in their fragments send no referrer', async () => {
  for (const path of ['/console/sign-in', '/console/in', '/console/invitation'])
    assert.is((await p.open(path, '')).headers.get('referrer-policy'), 'no-referrer', path);
});

test('after a wrong key, the sign-in page gives the reason, does not show the key, and still leads to the requested page', async () => {
  const answer = await p.submit('/console/sign-in', { key: 'wrong-secret', return_to: `${p.base}/agents` }, undefined, '');
  assert.is(answer.status, 401);
  assert.match(answer.text, /role="alert"[\s\S]+not an API key: ann_/);
  assert.match(answer.text, new RegExp(`name="return_to" value="${p.base}/agents"`));
  assert.not.match(answer.text, /wrong-secret/);
});

test('after a sign-in, the browser is never redirected to another host', async () => {
  for (const to of [
    'https://elsewhere.example',
    '//elsewhere.example',
    '/\\elsewhere.example',
    '/console//x',
    '/docs',
    'javascript:alert(1)',
    '/consolex',
  ]) {
    const answer = await p.submit('/console/sign-in', { key: p.key, return_to: to }, undefined, '');
    assert.is(answer.headers.get('location'), '/console', to);
  }
});

test('opening a sign-in link only asks for confirmation, and does not use up the link', async () => {
  const code = await issueSignInLink(p.systemContext());
  const asked = await p.open('/console/in', '');
  assert.match(asked.text, /Sign in to Annals in this browser\?[\s\S]+Continue only if you asked for this link/);
  assert.is(p.eventsOf('SignInLinkUsed').length, 0);
  const answer = await p.submit('/console/in', { code }, undefined, '');
  assert.equal([answer.status, answer.headers.get('location')], [303, '/console']);
  const start = await p.open('/console', sessionOf(answer));
  assert.equal([start.status, start.headers.get('location')], [303, p.base]);
  const again = await p.submit('/console/in', { code }, undefined, '');
  assert.is(again.status, 401);
  assert.match(again.text, /was used at .+ from 127\.0\.0\.1: make another with annals login/);
  assert.not.ok(again.text.includes(code));
});

test('sign-in and sign-out forms that another site submits are refused', async () => {
  const code = await issueSignInLink(p.systemContext());
  for (const headers of [
    { origin: 'https://elsewhere.example' },
    { origin: 'http://other.annals.test' },
    { 'sec-fetch-site': 'cross-site' },
    {},
  ]) {
    for (const [path, fields] of [
      ['/console/in', { code }],
      ['/console/sign-in', { key: p.key }],
      ['/console/preferences', { theme: 'dark' }],
    ] as const)
      assert.is((await p.submit(path, fields as Record<string, string>, headers as Record<string, string>)).status, 403, path);
    assert.is((await p.submit('/console/sign-out', {}, headers as Record<string, string>)).headers.getSetCookie().length, 0);
  }
  assert.is((await p.open(p.base)).status, 200, 'the session is still there');
});

test('signing out ends the session: a page of the console then redirects to the sign-in, which says why', async () => {
  const session = await p.signIn();
  const answer = await p.submit('/console/sign-out', {}, undefined, session);
  assert.equal([answer.status, answer.headers.get('location')], [303, '/console/sign-in']);
  assert.match(answer.headers.getSetCookie()[0]!, /annals_session=;.*Max-Age=0/);
  assert.is(answer.headers.get('clear-site-data'), '"storage"');
  const after = await p.open(p.base, session);
  assert.match(after.headers.get('location')!, /ended=1/);
  assert.match((await p.open(after.headers.get('location')!, '')).text, /The session has ended/);
});

test('a cookie stores the theme, so the next page has it from the start', async () => {
  const answer = await p.submit('/console/preferences', { theme: 'dark', return_to: p.base });
  assert.equal([answer.status, answer.headers.get('location')], [303, p.base]);
  const [chosen] = answer.headers.getSetCookie()[0]!.split(';');
  assert.match((await p.open(p.base, `${p.cookie}; ${chosen}`)).text, /<html lang="en" data-theme="dark">/);
  assert.match((await p.open(p.base, `${p.cookie}; annals_theme="><script>`)).text, /data-theme="system"/);
});

afterLastTest(() => p.close());

test.run();
