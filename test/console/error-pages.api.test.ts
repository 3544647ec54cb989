import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { pageUrls } from './page-urls.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const auditor = await p.signIn((await addMember(p, 'AUDITOR')).key);
await p.waitForProjections();

/** An id that has the form of one, but belongs to nothing. */
const UNKNOWN = `c${'0'.repeat(24)}`;
const FORM = { 'content-type': 'application/x-www-form-urlencoded', ...OWN_PAGE };
const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const FOREIGN = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };

type Failing = {
  readonly what: string;
  readonly status: number;
  readonly path: string;
  readonly method?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cookie?: string;
  readonly reason: RegExp;
  /** Breaks a part of the platform. @returns a function that repairs it */
  readonly breakPart?: () => () => void;
};

/** Makes all queries of the read models throw. @returns a function that restores them */
const failingReads = (error: () => Error) => (): (() => void) => {
  const reads = p.reads as { -readonly [Name in keyof Reads]: Reads[Name] };
  const before = { ...reads };
  const fail = () => Promise.reject(error());
  Object.assign(reads, { one: fail, page: fail, counter: fail });
  return () => void Object.assign(reads, before);
};

const postgresDown = failingReads(() => new Refusal('unavailable', 'The read models cannot be reached: try again.', { retryAfter: 5 }));
const bug = failingReads(() => new Error('a bug'));
const storeDown = (): (() => void) => {
  const { append } = p.log;
  Object.assign(p.log, {
    append: () => Promise.reject(new Refusal('unavailable', 'The event store cannot be reached', { retryAfter: 2 })),
  });
  return () => void Object.assign(p.log, { append });
};

const createForm = { ':tenant_id': p.tenant_id, '/name': 'A', '/slug': 'a' };
const THERE_IS_NONE = /There is no such page/;
const NOT_AVAILABLE = /cannot be reached/;

const CASES: readonly Failing[] = [
  ...[
    '/console/nothing',
    `${p.base}/nothing`,
    `/console/t/${UNKNOWN}/agents`,
    '/console/t/x/y',
    '/console/run/nothing',
    '/console/%E0',
  ].map((path) => ({ what: 'an unknown address', status: 404, path, reason: THERE_IS_NONE })),
  ...pageUrls(
    new Proxy({ tenant_id: p.tenant_id } as Record<string, string>, { get: (known, name) => Reflect.get(known, name) ?? UNKNOWN }),
  )
    .filter(({ url }) => url.includes(UNKNOWN) && !/\/projections\//.test(url))
    .map(({ name, url }) => ({ what: `an unknown object: ${name}`, status: 404, path: url, reason: THERE_IS_NONE })),
  { what: 'an unknown projection', status: 404, path: '/console/platform/projections/nothing', reason: THERE_IS_NONE },
  { what: 'a page without permission', status: 404, path: '/console/platform', cookie: auditor, reason: THERE_IS_NONE },
  {
    what: 'a form without permission',
    status: 404,
    path: `/console/run/createAgent?tenant_id=${p.tenant_id}`,
    cookie: auditor,
    reason: THERE_IS_NONE,
  },
  ...['PUT', 'PATCH', 'DELETE', 'POST'].flatMap((method) =>
    ['/console', p.base, `${p.base}/agents`, `${p.base}/agents/${agent}`].map((path) => ({
      what: 'a method that a page does not support',
      ...{ status: 405, path, method, reason: /changes nothing/ },
    })),
  ),
  ...['PUT', 'POST', 'DELETE'].map((method) => ({
    what: 'a method that a guide does not support',
    ...{ status: 405, path: '/guides', method, headers: HTML, reason: /changes nothing/ },
  })),
  { what: 'the address of a form', status: 405, path: '/console/sign-out', reason: /is not a page/ },
  {
    what: 'a form of another site',
    ...{ status: 403, path: '/console/run/createAgent', fields: createForm, headers: FOREIGN, reason: /accepted only from pages of/ },
  },
  {
    what: 'a form with too many bytes',
    ...{ status: 413, path: '/console/preferences', fields: { theme: 'x'.repeat(9_000) }, reason: /at most|too large/i },
  },
  {
    what: 'a form that changes the past',
    ...{ status: 409, path: '/console/run/createAgent?as_of=1', fields: createForm, reason: /The past cannot be changed/ },
  },
  {
    what: 'a form with wrong values',
    ...{ status: 422, path: '/console/run/createAgent', fields: { ...createForm, '/slug': 'A b' }, reason: /field-error/ },
  },
  {
    what: 'a form about an unknown object',
    ...{ status: 404, path: '/console/run/pauseAgent', fields: { ':tenant_id': p.tenant_id, ':agent_id': UNKNOWN }, reason: THERE_IS_NONE },
  },
  {
    what: 'a file for an unknown session',
    ...{ status: 404, path: `${p.base}/sessions/${UNKNOWN}/files`, method: 'POST', reason: /not found|does not exist|There is no/i },
  },
  ...[postgresDown, bug].flatMap((breakPart) =>
    ['/console', p.base, `${p.base}/agents/${agent}`, `/console/run/createAgent?tenant_id=${p.tenant_id}`, '/console/find?q=x'].map(
      (path) => ({
        what: breakPart === bug ? 'an error in the code' : 'Postgres is down',
        ...{ status: breakPart === bug ? 500 : 503, path, breakPart, reason: breakPart === bug ? /the log has it/ : NOT_AVAILABLE },
      }),
    ),
  ),
  {
    what: 'a form while the event store is down',
    ...{ status: 503, path: '/console/run/createAgent', fields: createForm, breakPart: storeDown, reason: NOT_AVAILABLE },
  },
  {
    what: 'a download without permission',
    status: 401,
    path: `${p.tenant}/audit-logs/export`,
    headers: HTML,
    cookie: '',
    reason: /credential|API key/,
  },
  {
    what: 'a download of nothing',
    status: 404,
    path: `${p.tenant}/deliveries/${UNKNOWN}/body`,
    headers: HTML,
    reason: /not found|does not exist/i,
  },
  {
    what: 'a download while Postgres is down',
    ...{ status: 503, path: `${p.tenant}/audit-logs/export`, headers: HTML, breakPart: postgresDown, reason: NOT_AVAILABLE },
  },
  { what: 'a sign-in that is not set up', status: 409, path: '/auth/login', headers: HTML, cookie: '', reason: /OIDC_ISSUER|issuer/i },
];

const requestOf = ({ path, fields, headers, cookie = p.cookie, method = fields ? 'POST' : 'GET' }: Failing) =>
  p.send(method, path, {
    key: '',
    ...(fields ? { raw: new URLSearchParams(fields).toString() } : {}),
    headers: { ...(cookie && { cookie }), ...(method === 'GET' ? {} : FORM), ...headers },
  });

const mainOf = (text: string): string => /<main[\s\S]*<\/main>/.exec(text)?.[0] ?? text;

/** Returns what a page lacks of what people need when something went wrong. */
const lacking = ({ path, status, reason }: Failing, answer: Awaited<ReturnType<typeof requestOf>>): readonly string[] => {
  const { headers, text } = answer;
  const content = mainOf(text);
  const id = headers.get('x-request-id')!;
  const isForm = status === 422;
  return [
    answer.status === status ? '' : `the status ${status}: it has ${answer.status}`,
    headers.get('content-type') === 'text/html; charset=utf-8' ? '' : `HTML: it is ${headers.get('content-type')}`,
    reason.test(content) ? '' : `the reason ${reason}: ${content.replaceAll(/<[^>]+>/g, ' ').slice(0, 300)}`,
    isForm || content.includes(id) ? '' : 'the request id',
    /<a [^>]*href="(?!#)[^"]*"|<form/.test(content) ? '' : 'a next step',
    !path.startsWith('/console') || /<aside id="nav"/.test(text) ? '' : 'the layout',
    /a bug|"detail"|\bat .*\.ts:\d/.test(text) ? 'a text without inner details' : '',
  ].filter((one) => one !== '');
};

const groups = Object.entries(Object.groupBy(CASES, ({ what }) => what));
for (const [what, cases = []] of groups)
  test(`${what} is answered with a page that has the reason, the request id and a next step`, async () => {
    for (const each of cases) {
      const repair = each.breakPart?.() ?? (() => undefined);
      const answer = await requestOf(each).finally(repair);
      assert.equal(lacking(each, answer), [], `${each.method ?? 'GET'} ${each.path}`);
    }
  });

test('a method that a page does not support is answered with those that it supports', async () => {
  const answer = await p.send('PUT', p.base, { key: '', headers: { cookie: p.cookie, ...OWN_PAGE } });
  assert.is(answer.headers.get('allow'), 'GET, HEAD');
  assert.is((await p.send('OPTIONS', '/console/sign-in', { key: '' })).headers.get('allow'), 'GET, HEAD, POST, OPTIONS');
});

test('a method that a page does not support is answered in the layout of the visitor, with their navigation', async () => {
  const layoutOf = ({ text }: { readonly text: string }) =>
    (/<aside id="nav"[\s\S]*?<\/aside>/.exec(text)?.[0] ?? '').match(/href="[^"]*"/g);
  const expected = layoutOf(await p.open(`${p.base}/deliveries`));
  assert.ok(expected && expected.length > 5);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await p.send(method, `${p.base}/deliveries`, { key: '', headers: { cookie: p.cookie, ...OWN_PAGE } });
    assert.is(answer.status, 405);
    assert.equal(layoutOf(answer), expected, method);
  }
});

test('the page of an unknown object leads to the list of its kind, which the visitor may open', async () => {
  const { text } = await p.open(`${p.base}/agents/${UNKNOWN}`);
  assert.match(mainOf(text), new RegExp(`href="${p.base}/agents"[^>]*>To Agents`));
});

test('after a form that failed, the page leads back to where it was sent from, and to no other site', async () => {
  const back = async (referer: string) =>
    /href="([^"]*)">Go back/.exec(
      (await p.submit('/console/preferences', { theme: 'x'.repeat(9_000) }, { ...OWN_PAGE, referer })).text,
    )?.[1];
  assert.is(await back(`http://annals.test${p.base}/agents?cursor=a`), `${p.base}/agents?cursor=a`);
  assert.is(await back('http://evil.example/console/me'), '/console');
  assert.is(await back('http://annals.test//evil.example'), '/console');
});

afterLastTest(() => p.close());

test.run();
