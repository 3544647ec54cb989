import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openGuides } from '../../api/console/guides.ts';
import { SECURITY_HEADERS } from '../../api/console/headers.ts';
import { loadGuideFiles } from '../../infra/http/guide-files.ts';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startConsole } from '../fixtures/console-platform.ts';
import { documentFiles, documentText } from '../fixtures/documents.ts';
import { HOSTILE_TEXTS, unescapedIn } from '../fixtures/hostile-texts.ts';
import { loadFactor } from '../fixtures/load-factor.ts';

const p = await startConsole();
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const origin = `http://127.0.0.1:${server.port}`;

const MAX_GZIP_BYTES = 14_000;
const MAX_MEDIAN_MS = 10;

const names = documentFiles.filter((file) => file !== 'README.md').map((file) => file.slice('docs/'.length, -'.md'.length));

const get = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${origin}${path}`, { headers, redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

const pages = new Map<string, Awaited<ReturnType<typeof get>>>();
for (const path of ['/guides', ...names.map((name) => `/guides/${name}`)]) pages.set(path, await get(path));

const decoded = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

const valuesOf = (text: string, attribute: string): string[] =>
  [...text.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value]) => decoded(value!));

/** The links of a page of docs/ in Markdown, without those to files that the service does not serve. */
const linksIn = (file: string): string[] => {
  const text = documentText(file)
    .replace(/^ *```.*?^ *```$/gms, '')
    .replace(/`[^`\n]*`/g, '');
  return [...text.matchAll(/(?<!!\[[^\]]*)\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^\.\.\/(?!README\.md)/.test(target));
};

test("every page of the documentation is a guide without a session, with one h1 and the console's headers", () => {
  for (const [path, { status, headers, text }] of pages) {
    assert.is(status, 200, path);
    assert.is(text.match(/<h1/g)?.length, 1, path);
    for (const [name, value] of Object.entries(SECURITY_HEADERS))
      if (name !== 'cache-control') assert.is(headers.get(name), value, `${path} ${name}`);
    assert.not.match(text, /<style|<script(?![^>]* src=)| style="| on[a-z]+="/, path);
  }
});

test('every link of a guide leads to an address that exists, and its anchor to an element', async () => {
  const statuses = new Map<string, number>();
  const broken: string[] = [];
  for (const [path, { text }] of pages)
    for (const href of new Set([...valuesOf(text, 'href'), ...valuesOf(text, 'src'), ...valuesOf(text, 'srcset')])) {
      if (/^(https?:\/\/|mailto:)/.test(href)) continue;
      const { pathname, hash } = new URL(href, `${origin}${path}`);
      if (!statuses.has(pathname)) statuses.set(pathname, (await get(pathname)).status);
      if (![200, 303].includes(statuses.get(pathname)!)) broken.push(`${path}: ${href} has the status ${statuses.get(pathname)}`);
      const target = pages.get(pathname)?.text;
      if (hash !== '' && target !== undefined && !target.includes(` id="${decodeURIComponent(hash.slice(1))}"`))
        broken.push(`${path}: ${href} has no such anchor`);
    }
  assert.equal(broken, []);
  assert.ok(statuses.size > names.length, `${statuses.size} addresses`);
});

test('every link in the Markdown of a page is a link of its guide', () => {
  for (const name of names) {
    const hrefs = valuesOf(pages.get(`/guides/${name}`)!.text, 'href');
    for (const link of linksIn(`docs/${name}.md`)) {
      const expected = /^(https?:|mailto:|#)/.test(link)
        ? link
        : link === '../README.md'
          ? '/guides'
          : `/guides/${link.replace('.md', '')}`;
      assert.ok(hrefs.includes(expected), `${name}: ${link}`);
    }
  }
});

test('the contents page and the navigation list every guide', () => {
  for (const [path, { text }] of pages) {
    const hrefs = valuesOf(text, 'href');
    assert.equal(
      names.filter((name) => !hrefs.includes(`/guides/${name}`)),
      [],
      path,
    );
  }
});

test('the headings of a guide are those that the search knows, with the same anchors', async () => {
  const { all } = openGuides(await loadGuideFiles());
  for (const name of names) {
    const { text } = pages.get(`/guides/${name}`)!;
    const headings = [...text.matchAll(/<h([1-6]) id="([^"]*)">(.*?)<\/h[1-6]>/g)].map(([, level, id, html]) => ({
      level: Number(level),
      text: decoded(html!.replace(/<a class="anchor".*?<\/a>/, '')),
      id: id!,
    }));
    assert.equal(headings, all.get(name)!.headings, name);
  }
});

test('a hostile query of the guides stays a text', async () => {
  for (const text of HOSTILE_TEXTS) assert.equal(unescapedIn((await get(`/guides?q=${encodeURIComponent(text)}`)).text), [], text);
});

test("the console's search finds guides by their titles and headings", async () => {
  const { text } = await p.open(`${p.base}/find?q=time%20zones`);
  assert.match(text, /href="\/guides\/console#the-past-and-time-zones"[\s\S]*?guide · The console/);
  assert.match((await p.open('/console/find?q=troubleshooting')).text, /href="\/guides\/troubleshooting"/);
});

test('the console, the page to sign in, the start page and the API reference lead to the guides', async () => {
  for (const text of [
    (await p.open(p.base)).text,
    (await p.open('/console/sign-in', '')).text,
    (await get('/', { accept: 'text/html' })).text,
  ])
    assert.match(text, 'href="/guides"');
  const { info } = JSON.parse((await get('/openapi.json')).text) as { info: { description: string } };
  assert.match(info.description, '(/guides)');
  assert.match((await get('/llms.txt')).text, '/guides)');
});

test('an unknown guide gets 404 with the navigation of the guides, also without a session', async () => {
  for (const path of [
    '/guides/nowhere',
    '/guides/nowhere.md',
    '/guides/pictures/nowhere.png',
    '/guides/..%2fpackage.json',
    '/guides/../docs/tour.md',
    '/guides/a/b',
  ]) {
    const { status, text } = await get(path);
    assert.is(status, 404, path);
    if (!path.includes('../')) assert.match(text, 'There is no such guide', path);
  }
});

test('the path of a guide with .md after it returns the guide as Markdown', async () => {
  const { status, headers, text } = await get('/guides/tour.md');
  assert.equal([status, headers.get('content-type')], [200, 'text/markdown; charset=utf-8']);
  assert.is(text, documentText('docs/tour.md'));
});

test('the guide about Python has the client as a file', async () => {
  const { status, headers, text } = await get('/guides/annals.py');
  assert.equal([status, headers.get('content-type')], [200, 'text/x-python; charset=utf-8']);
  assert.is(text, documentText('docs/annals.py'));
});

test('a guide that has not changed is answered with 304, and the chosen theme makes it another page', async () => {
  for (const path of [
    '/guides',
    '/guides/tour',
    '/guides/tour.md',
    '/guides?q=mail',
    '/guides/annals.py',
    '/guides/pictures/deliveries-light.png',
  ]) {
    const first = await get(path);
    const etag = first.headers.get('etag')!;
    assert.is(first.headers.get('cache-control'), 'no-cache', path);
    const again = await get(path, { 'if-none-match': etag });
    assert.equal([again.status, again.text, again.headers.get('etag')], [304, '', etag], path);
  }
  const dark = await get('/guides/tour', { cookie: 'annals_theme=dark' });
  assert.match(dark.text, 'data-theme="dark"');
  assert.is.not(dark.headers.get('etag'), (await get('/guides/tour')).headers.get('etag'));
});

test('the choice of a theme in the console is also that of the guides', async () => {
  const { headers } = await p.submit('/console/preferences', { theme: 'dark', return_to: '/console' });
  assert.equal(
    headers
      .getSetCookie()
      .filter((cookie) => cookie.startsWith('annals_theme=dark'))
      .map((cookie) => /Path=([^;]+)/.exec(cookie)![1]),
    ['/console', '/guides'],
  );
});

test('a guide has at most 14 kB as gzip, and is answered within 10 ms', async () => {
  for (const [path, { text }] of pages) assert.ok(gzipSync(text).length <= MAX_GZIP_BYTES, `${path}: ${gzipSync(text).length} bytes`);
  const times: number[] = [];
  for (const path of pages.keys()) {
    const start = performance.now();
    await p.app.request(path);
    times.push(performance.now() - start);
  }
  const median = times.toSorted((one, other) => one - other)[times.length >> 1]!;
  assert.ok(median <= MAX_MEDIAN_MS * loadFactor(), `${median} ms`);
});

afterLastTest(async () => {
  await server.close();
  await p.close();
});

test.run();
