import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openGuides } from '../../api/console/guides.ts';
import { page } from '../../api/console/page.ts';
import { createConsole } from '../../api/console-routes.ts';
import { createCookies } from '../../api/identity/sign-in-cookies.ts';
import { issueSignInLink } from '../../commands/identity/sign-in-link.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const POSTGRES = {
  name: 'Postgres',
  status: 'down',
  detail: 'does not answer',
  advice: 'start it, or correct DATABASE_URL',
  figures: {},
} as const;

const p = await startConsole({ readHealth: async () => ({ at: new Date().toISOString(), parts: [POSTGRES], processes: [] }) });
const agent = await createAgent(p, 'Reviewer');
await p.waitForProjections();

const POLICIES: Readonly<Record<string, RegExp>> = {
  'content-security-policy': /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'$/,
  'cross-origin-opener-policy': /^same-origin$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'referrer-policy': /^(?:same-origin|no-referrer)$/,
  'permissions-policy': /^accelerometer=\(\), .*camera=\(\), .*usb=\(\), .*clipboard-write=\(self\)$/,
  'x-content-type-options': /^nosniff$/,
};

const assertProtected = (headers: Headers, what: string): void => {
  for (const [name, value] of Object.entries(POLICIES)) assert.match(headers.get(name) ?? '', value, `${what}: ${name}`);
};

const assertPage = ({ headers, text }: { headers: Headers; text: string }, what: string): void => {
  assert.is(headers.get('content-type'), 'text/html; charset=utf-8', what);
  assert.match(text, /^<!doctype html>.*data-problem/s, what);
  assertProtected(headers, what);
};

const FORM = { ...OWN_PAGE, 'content-type': 'application/x-www-form-urlencoded' };

/** Returns a body that is sent in chunks, without a Content-Length, and the number of bytes that were read of it. */
const chunked = (bytes: number) => {
  const state = { read: 0 };
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        if (state.read >= bytes) return controller.close();
        state.read += 1_024;
        controller.enqueue(new Uint8Array(1_024).fill(0x61));
      },
    },
    { highWaterMark: 0 },
  );
  return { state, body };
};

/** Replaces every query of the read models by one that fails. @returns a function that restores the queries */
const stopReadModels = (): (() => void) => {
  const reads = p.reads as { -readonly [Name in keyof Reads]: Reads[Name] };
  const before = { ...reads };
  const fail = async (): Promise<never> => {
    throw new Refusal('unavailable', 'The read models cannot be reached: try again.', { retryAfter: 5 });
  };
  Object.assign(reads, { one: fail, page: fail, counter: fail });
  p.degraded.push('read models');
  return () => {
    p.degraded.length = 0;
    Object.assign(reads, before);
  };
};

test('a page that is opened while the read models are down keeps its navigation, names the problem, and tries again until it can be shown', async () => {
  const restart = stopReadModels();
  const path = `${p.base}/agents/${agent}`;
  const { status, text, headers } = await p.open(path).finally(restart);
  assert.is(status, 503);
  assertPage({ headers, text }, path);
  for (const [label, rest] of [
    ['Overview', ''],
    ['Deliveries', '/deliveries'],
    ['Members', '/members'],
  ] as const)
    assert.match(text, new RegExp(`href="${p.base}${rest}"[^>]*>.*?${label}`));
  assert.match(text, new RegExp(`href="${p.base}/agents"[^>]*aria-current="page"`));
  assert.match(text, /The read models cannot be reached/);
  assert.match(text, /data-degraded="read models"/);
  assert.match(text, new RegExp(`data-refresh="${path}" data-incomplete=""`));
  assert.match(text, /data-retry="2"/);
  assert.not.match(text, /Audit log|API keys/, 'it is not known whether the visitor may open these pages');
  const again = await p.open(path);
  assert.is(again.status, 200);
  assert.not.match(again.text, /data-incomplete|data-retry|data-problem/);
});

test('if one API call of a page fails briefly, the page tries again, even if it does not follow changes', async () => {
  const reads = p.reads as { -readonly [Name in keyof Reads]: Reads[Name] };
  const { page: original } = reads;
  const path = `${p.base}/agents?as_of=${encodeURIComponent(new Date(Date.now() + 1).toISOString())}`;
  const calls = { count: 0 };
  // The first page of rows that is read are the visitor's tenants. The next one belongs to the content of the page.
  reads.page = ((...parts: Parameters<Reads['page']>) =>
    calls.count++ === 0
      ? original.apply(reads, parts)
      : Promise.reject(new Refusal('unavailable', 'Try again', { retryAfter: 5 }))) as Reads['page'];
  const { text } = await p.open(path).finally(() => {
    reads.page = original;
  });
  assert.match(text, /data-problem="" data-retry="2"/);
  assert.match(text, /data-refresh="[^"]*as_of=/);
  assert.not.match(text, /id="live"|data-incomplete/);
});

test('every answer of the console has the security headers: pages, redirects, and each asset', async () => {
  const { text, headers } = await p.open(p.base);
  assertProtected(headers, 'a page');
  const assets = [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"#]+)/g)].map(([, path]) => path!);
  const files = new Set([...assets, ...['icons.svg', 'favicon.svg', 'geist.woff2'].map((name) => assets[0]!.replace(/[^/]+$/, name))]);
  assert.ok(files.size > 4, `${[...files]}`);
  for (const path of files) {
    const asset = await p.open(path);
    assert.is(asset.status, 200, path);
    assertProtected(asset.headers, path);
    assert.is(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable', path);
  }
  assertProtected((await p.open('/console')).headers, 'a redirect');
  assertProtected((await p.open('/console/nothing')).headers, 'an unknown page');
  assertProtected((await p.open('/console/sign-in', '')).headers, 'the sign-in page');
});

test('a form that another site sends is refused with a page that has the security headers', async () => {
  const foreign = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
  for (const path of ['/console/preferences', '/console/run/createAgent']) {
    const answer = await p.submit(path, { theme: 'dark' }, foreign);
    assert.is(answer.status, 403, path);
    assertPage(answer, path);
  }
});

test('a form with too many bytes is refused after the first of them, before anybody has signed in, also if its size is not announced', async () => {
  for (const path of ['/console/sign-in', '/console/in', '/console/preferences', '/auth/link', '/auth/key']) {
    const { state, body } = chunked(1_024 * 1_024);
    const answer = await p.app.request(path, { method: 'POST', headers: FORM, body, duplex: 'half' } as RequestInit);
    assert.is(answer.status, 413, path);
    assert.ok(state.read <= 8_192, `${path}: ${state.read} bytes were read`);
    if (path.startsWith('/console')) assertPage({ headers: answer.headers, text: await answer.text() }, path);
  }
  const json = chunked(1_024 * 1_024);
  const headers = { ...OWN_PAGE, 'content-type': 'application/json' };
  const answer = await p.app.request('/auth/key', { method: 'POST', headers, body: json.body, duplex: 'half' } as RequestInit);
  assert.is(answer.status, 413);
  assert.ok(json.state.read <= 8_192, `${json.state.read} bytes were read`);
});

test('an error in the code of a page gives a page that says so, with the security headers and the navigation', async () => {
  const broken = page({
    path: '/console/t/:tenant_id/broken',
    permit: 'any',
    nav: '',
    asks: () => ({}),
    title: () => 'Broken',
    view: () => {
      throw new Error('a bug');
    },
  });
  const logged: unknown[] = [];
  const cookies = createCookies('http://annals.test');
  const answerFailure = (error: unknown): Response => {
    logged.push(error);
    return new Response(JSON.stringify({ title: 'Something went wrong', status: 500, detail: 'The log has it', code: 'internal' }), {
      status: 500,
      headers: { 'content-type': 'application/problem+json' },
    });
  };
  const deps = {
    app: p.app,
    operations: p.operations,
    cookies,
    hasIssuer: false,
    assets: '/a',
    pages: [broken],
    names: new Map(),
    guides: openGuides({ readme: '', pages: new Map(), files: new Map() }),
    answerFailure,
  };
  const request = new Request(`http://annals.test${p.base}/broken`, { headers: { cookie: p.cookie } });
  const answer = await createConsole(deps).fetch(request, { requestId: 'r1' });
  assert.is(answer.status, 500);
  assert.is((logged[0] as Error).message, 'a bug');
  const text = await answer.text();
  assertPage({ headers: answer.headers, text }, 'the broken page');
  assert.match(text, /The log has it/);
  assert.match(text, new RegExp(`href="${p.base}/deliveries"`));
  assert.not.match(text, /a bug/);
});

const refresh = (path: string, cookie: string) =>
  p.send('GET', path, { key: '', headers: { ...(cookie && { cookie }), 'x-console-refresh': '1' } });

const detailOf = async (cookie: string): Promise<string> => {
  const { status, body, headers } = await refresh(p.base, cookie);
  assert.is(status, 401);
  assertProtected(headers, 'the answer to an open page');
  const { detail } = body as { detail: string };
  const page = await p.open(`/console/sign-in?ended=1&return_to=${encodeURIComponent(p.base)}`, cookie);
  assert.ok(page.text.includes(`The session has ended: ${detail}. You return`), page.text.slice(0, 3_000));
  return detail;
};

test('an open page whose session has ended gets the reason, which the sign-in page shows, too', async () => {
  const signedOut = await p.signIn();
  assert.is((await p.send('POST', '/auth/logout', { key: '', headers: { cookie: signedOut, ...OWN_PAGE } })).status, 204);
  assert.is(await detailOf(signedOut), 'This browser was signed out, here or in another browser');

  const made = await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Short' } });
  const { id, key } = made.body as { id: string; key: string };
  const byKey = await p.signIn(key);
  assert.is((await refresh(p.base, byKey)).status, 200);
  await p.send('DELETE', `${p.tenant}/api-keys/${id}`);
  assert.is(await detailOf(byKey), 'The API key with which this browser signed in was revoked');

  const member = await addMember(p, 'ADMIN');
  const ofMember = await p.signIn(member.key);
  await p.send('PATCH', `/api/v1/admin/users/${member.user_id}`, { body: { is_suspended: true } });
  assert.match(await detailOf(ofMember), /suspended/);

  const cookie = await p.signIn();
  const { now } = p.clock;
  p.clock.now = () => now() + 13 * 3_600_000;
  assert.match(await detailOf(cookie).finally(() => Object.assign(p.clock, { now })), /^The sign-in was valid until 20/);

  const gone = await refresh(p.base, '');
  assert.equal([gone.status, (gone.body as { detail: string }).detail], [401, 'This browser was signed out']);
});

test('while a tenant is suspended, its pages say so to its members', async () => {
  const made = await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'owner@example.com' } });
  const { id, owner_key } = made.body as { id: string; owner_key: string };
  await p.waitForProjections();
  const cookie = await p.signIn(owner_key);
  assert.is((await p.open(`/console/t/${id}`, cookie)).status, 200);
  await p.send('POST', `/admin/tenants/${id}/suspend`, { body: { reason: 'unpaid' } });
  const { status, text } = await refresh(`/console/t/${id}`, cookie);
  assert.ok([401, 403].includes(status), `${status}`);
  assert.match(text, /The tenant is suspended/);
});

/** Signs in with a one-time link. Such a session is not bound to one tenant. @returns the session cookie */
const signInByLink = async (email: string): Promise<string> => {
  const answer = await p.submit('/console/in', { code: await issueSignInLink(p.systemContext(), email) }, OWN_PAGE, '');
  return answer.headers.getSetCookie()[0]!.split(';')[0]!;
};

test('while a tenant is suspended, its pages and forms say so to people who are also members of other tenants', async () => {
  const { id } = await createSecondTenant(p, 'third');
  for (const tenant_id of [id, p.tenant_id]) await addMember(p, 'OWNER', tenant_id, 'both@example.com');
  const cookie = await signInByLink('both@example.com');
  const paths = [`/console/t/${id}`, `/console/t/${id}/agents`, `/console/run/createAgent?tenant_id=${id}`];
  for (const path of paths) assert.is((await p.open(path, cookie)).status, 200, path);
  await p.send('POST', `/admin/tenants/${id}/suspend`, { body: { reason: 'unpaid' } });
  for (const path of paths) {
    const { status, text } = await p.open(path, cookie);
    assert.is(status, 404, path);
    assert.match(text, /third is suspended/, path);
  }
  assert.is((await p.open(p.base, cookie)).status, 200);
});

test('while the read models are down, the page of the health of the platform still shows the parts, and to super-admins only', async () => {
  const owner = await signInByLink('both@example.com');
  const restart = stopReadModels();
  const [shown, hidden] = [await p.open('/console/platform'), await p.open('/console/platform', owner)];
  restart();
  assert.equal([shown.status, hidden.status], [503, 503]);
  assert.match(shown.text, /data-problem[\s\S]+data-kind="part" data-id="Postgres"[\s\S]+start it, or correct DATABASE_URL/);
  assert.not.match(hidden.text, /data-kind="part"/);
});

afterLastTest(() => p.close());

test.run();
