import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { guidePage } from '../../api/console/guide-page.ts';
import { createAnchors, openGuides } from '../../api/console/guides.ts';
import { renderMarkdown } from '../../api/console/parts/markdown.ts';
import { htmlOf, tags } from '../../api/console/parts/tags.ts';
import { HOSTILE_TEXTS, unescapedIn } from '../fixtures/hostile-texts.ts';
import { loadFactor } from '../fixtures/load-factor.ts';

const MAX_MS = 100;

const readme = '## Where to read on\n\n**Use it**\n\n- [A](docs/a.md): first\n- [B](docs/b.md)\n\nMIT licensed.\n';
const png = { type: 'image/png', bytes: new Uint8Array([1]), etag: '"1"' } as const;
const pictures = new Map([
  ['pictures/a-light.png', png],
  ['pictures/a-dark.png', png],
  ['pictures/b.png', png],
]);

const deps = (text: string, theme: 'system' | 'light' | 'dark' = 'system') => {
  const pages = new Map([
    ['a', text],
    ['b', '# B\n\n## Second\n'],
  ]);
  return { assets: '/assets', theme, guides: openGuides({ readme, pages, files: pictures }) };
};

/** Returns the HTML of the article of a guide with this text. */
const article = (text: string, theme?: 'light' | 'dark'): string => {
  const made = deps(text, theme);
  return /<article class="guide">([\s\S]*?)<nav/.exec(guidePage(made, made.guides.all.get('a')!))![1]!;
};

const RENDERED: readonly (readonly [markdown: string, html: string])[] = [
  ['*a* **b** ~~c~~ `d`', '<p><em>a</em> <strong>b</strong> <del>c</del> <code>d</code></p>'],
  ['- a\n- b', '<ul><li>a</li><li>b</li></ul>'],
  ['2. a\n3. b', '<ol start="2"><li>a</li><li>b</li></ol>'],
  ['> a', '<blockquote><p>a</p></blockquote>'],
  ['---', '<hr/>'],
  ['## A b', '<h2 id="a-b">A b<a class="anchor" href="#a-b" aria-label="Link to this section">#</a></h2>'],
  ['[x](b.md#second)', '<p><a href="/guides/b#second">x</a></p>'],
  ['[x](../README.md)', '<p><a href="/guides">x</a></p>'],
  ['[x](../infra/main.ts)', '<p>x</p>'],
  ['[x](unknown.md)', '<p>x</p>'],
  ['[x][1]\n\n[1]: b.md', '<p><a href="/guides/b">x</a></p>'],
  ['[x](javascript:alert(1))', '<p>x</p>'],
  ['[x](JaVaScRiPt:alert(1))', '<p>x</p>'],
  ['[x](data:text/html,<script>)', '<p>x</p>'],
  ['[x](//evil.example.com)', '<p>x</p>'],
  ['<javascript:alert(1)>', '<p>javascript:alert(1)</p>'],
  ['<https://a.example.com/>', '<p><a href="https://a.example.com/" rel="noopener noreferrer nofollow">https://a.example.com/</a></p>'],
  ['![x](https://evil.example.com/a.png)', '<p>x</p>'],
  ['![x](../package.json)', '<p>x</p>'],
  ['![x](pictures/b.png)', '<p><img src="/guides/pictures/b.png" alt="x" loading="lazy"/></p>'],
  ['<img src=x onerror=alert(1)>', '<p>&lt;img src=x onerror=alert(1)&gt;</p>'],
  [
    '- [x] a\n- [ ] b',
    '<ul><li><input type="checkbox" checked="" disabled="" aria-label="Done"/>a</li><li><input type="checkbox" disabled="" aria-label="Open"/>b</li></ul>',
  ],
  [
    'a https://a.example.com/b.',
    '<p>a <a href="https://a.example.com/b" rel="noopener noreferrer nofollow">https://a.example.com/b</a>.</p>',
  ],
  ['a <b onclick="x">b</b>', '<p>a &lt;b onclick=&quot;x&quot;&gt;b&lt;/b&gt;</p>'],
];

for (const [markdown, html] of RENDERED)
  test(`the Markdown ${JSON.stringify(markdown)} becomes ${JSON.stringify(html)}`.slice(0, 110), () => assert.is(article(markdown), html));

test('a picture with a dark variant follows the theme of the system, or the one that was chosen', () => {
  const markdown = '![x](pictures/a-light.png)';
  assert.match(
    article(markdown),
    '<picture><source srcset="/guides/pictures/a-dark.png" media="(prefers-color-scheme: dark)"/><img src="/guides/pictures/a-light.png"',
  );
  assert.match(article(markdown, 'dark'), '<p><img src="/guides/pictures/a-dark.png"');
  assert.match(article(markdown, 'light'), '<p><img src="/guides/pictures/a-light.png"');
});

/** Removes the links to other sites, which Markdown may contain. */
const withoutLinks = (html: string): string => html.replaceAll(/<a href="https:\/\/[^"]*" rel="noopener noreferrer nofollow">/g, '<a>');

test('hostile texts stay texts in every place of a Markdown document', () => {
  for (const text of HOSTILE_TEXTS)
    for (const markdown of [
      text,
      `# ${text}`,
      `[${text}](${text})`,
      `![${text}](${text})`,
      `\`\`\`${text}\n${text}\n\`\`\``,
      `| a |\n|---|\n| ${text} |`,
    ])
      assert.equal(unescapedIn(withoutLinks(article(markdown))), [], markdown);
});

const LONG: Readonly<Record<string, string>> = {
  'quotations inside each other': '>'.repeat(10_000),
  'lists inside each other': Array.from({ length: 300 }, (_, level) => `${' '.repeat(level * 2)}- a`).join('\n'),
  'emphases inside each other': `${'*'.repeat(20_000)}a${'*'.repeat(20_000)}`,
  ...Object.fromEntries(
    ['*a', '**a*', '~a', '_a ', '`a``b', '[^a]', '[a][b]', '[a](', '![', '|a|b|\n|-|-|\n', '[a]: b\n', '<http:', '&#'].map((part) => [
      `${JSON.stringify(part)} in 64 kB`,
      part.repeat(64 * 1024).slice(0, 64 * 1024),
    ]),
  ),
  'open brackets': '['.repeat(20_000),
  'open links': '[a](<b '.repeat(2_000),
  'HTML tags that are not closed': '<a '.repeat(10_000),
  'a text of 10 MB': 'a *b* '.repeat(1_700_000),
};

for (const [name, text] of Object.entries(LONG))
  test(`Markdown with ${name} is rendered in a short time`, () => {
    const anchors = createAnchors();
    const start = performance.now();
    htmlOf(tags.div(null, ...renderMarkdown(text, { link: () => null, image: () => null, headingId: anchors })), '');
    const milliseconds = performance.now() - start;
    assert.ok(milliseconds <= 5 * MAX_MS * loadFactor(), `${milliseconds} ms`);
  });

test.run();
