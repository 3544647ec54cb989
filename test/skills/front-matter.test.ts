import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { stringify } from 'yaml';
import { Refusal } from '../../domain/refusal.ts';
import { readFrontMatter } from '../../domain/skills/front-matter.ts';
import { splitManifest } from '../../domain/skills/manifest.ts';
import { parseYaml } from '../../infra/archives/parse-yaml.ts';

const read = (text: string) => {
  const { frontMatter, firstLine, instructions } = splitManifest(text);
  const { name, description } = readFrontMatter(frontMatter, firstLine, parseYaml);
  return { name: name.text, description: description.text, instructions };
};
const manifest = (...lines: string[]): string => ['---', ...lines, '---', 'Do it'].join('\n');
const described = (...lines: string[]): string => manifest('name: a', ...lines);

/** Returns the message of the refusal. */
const refusalOf = (text: string): string => {
  try {
    return `accepted: ${JSON.stringify(read(text))}`;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
};

/** The client guide of agentskills.io: values with a colon must be read; github.com issues of skill authors name the others. */
const GUIDE = 'agentskills.io, client implementation, handling malformed YAML';
const YAML = 'YAML 1.2.2';

/** [where such a value is described or was reported, the lines of the field, the text that is read] */
const DESCRIPTIONS: readonly (readonly [source: string, lines: readonly string[], text: string])[] = [
  [GUIDE, ['description: Use when: the user says "review"'], 'Use when: the user says "review"'],
  ['mintlify/docs 6061', ['description: Videos: clips, captions: all'], 'Videos: clips, captions: all'],
  ['tanweai/pua 147', ["description: 妈妈 — Triggers on: '/pua:mama', '/pua'"], "妈妈 — Triggers on: '/pua:mama', '/pua'"],
  [
    'open-octo/octo-agent 1417',
    ['description:', '  "review my plan". Pairs', '  with the skill: first'],
    '"review my plan". Pairs with the skill: first',
  ],
  [
    'open-octo/octo-agent 1417',
    ['description:', '  Reviews "plans". Pairs with: first', '  of all'],
    'Reviews "plans". Pairs with: first of all',
  ],
  [GUIDE, ['description: ends with a colon:'], 'ends with a colon:'],
  [`${YAML} 5.3`, ['description: @mentions people'], '@mentions people'],
  [`${YAML} 5.3`, ['description: `code` first'], '`code` first'],
  [`${YAML} 5.3`, ['description: %d of %s'], '%d of %s'],
  [`${YAML} 5.3`, ['description: *important* words'], '*important* words'],
  [`${YAML} 5.3`, ['description: &c. and so on'], '&c. and so on'],
  [`${YAML} 5.3`, ['description: !important rules'], '!important rules'],
  [`${YAML} 5.3`, ['description: [WIP] Reviews code'], '[WIP] Reviews code'],
  [`${YAML} 5.3`, ['description: {name} is replaced'], '{name} is replaced'],
  [`${YAML} 5.3`, ['description: > 5 files changed'], '> 5 files changed'],
  [`${YAML} 5.3`, ['description: | separates columns'], '| separates columns'],
  [`${YAML} 5.3`, ['description: - a dash first'], '- a dash first'],
  [`${YAML} 5.3`, ['description: ? a question'], '? a question'],
  [`${YAML} 5.3`, ['description: , a comma'], ', a comma'],
  [`${YAML} 7.3.2`, ["description: 'Don't use this'"], "Don't use this"],
  [`${YAML} 7.3.2`, ["description: 'Don''t use this'"], "Don't use this"],
  [`${YAML} 7.3.2`, ["description: Don't use this, it's old"], "Don't use this, it's old"],
  [`${YAML} 7.3.1`, ['description: "Use the "review" tool"'], 'Use the "review" tool'],
  [`${YAML} 7.3.1`, ['description: "Review" or "test" code'], '"Review" or "test" code'],
  [`${YAML} 7.3.1`, ['description: "Review" and "test"'], '"Review" and "test"'],
  [`${YAML} 7.3.1`, ['description: "Review": the best'], '"Review": the best'],
  [`${YAML} 7.3.1`, ['description: "a \\"b\\" \\u00fc"'], 'a "b" ü'],
  [`${YAML} 7.3.1`, ['description: "one', '  two"'], 'one two'],
  [`${YAML} 6.6`, ['description: Works with issues #42 and C# code'], 'Works with issues #42 and C# code'],
  [`${YAML} 6.6`, ['description: #42 is solved'], '#42 is solved'],
  [`${YAML} 6.6`, ['description: Writes to the channel # general'], 'Writes to the channel # general'],
  [`${YAML} 6.6`, ['description: "Review" #42 and more'], '"Review" #42 and more'],
  [`${YAML} 6.6`, ['# a comment', 'description: b', '# another one'], 'b'],
  [`${YAML} 6.6`, ['description: "b" # a comment'], 'b'],
  [`${YAML} 10.3.2`, ['description: 7'], '7'],
  [`${YAML} 10.3.2`, ['description: 1.10'], '1.10'],
  [`${YAML} 10.3.2`, ['description: 0x1F'], '0x1F'],
  [`${YAML} 10.3.2`, ['description: true'], 'true'],
  ['YAML 1.1, bool', ['description: yes'], 'yes'],
  ['YAML 1.1, timestamp', ['description: 2026-11-27'], '2026-11-27'],
  [`${YAML} 10.3.2`, ['description: "null"'], 'null'],
  [`${YAML} 8.1`, ['description: |', '  one', '  two'], 'one\ntwo'],
  [`${YAML} 8.1`, ['description: >-', '  one', '  two: #3', '', '  three'], 'one two: #3\nthree'],
  [`${YAML} 8.1`, ['description: >', '\tone', '\ttwo'], 'one two'],
  [`${YAML} 8.1`, ['description: |2- # indented', '  one'], 'one'],
  [`${YAML} 7.3.3`, ['description: one', '  two: 2', '', '  three'], 'one two: 2\nthree'],
  [`${YAML} 7.3.3`, ['description:', '  one', '  two'], 'one two'],
  [`${YAML} 7.3.3`, ['description: one', '\ttwo'], 'one two'],
  [`${YAML} 7.3.3`, ['description: one', '  - two', '  - three'], 'one - two - three'],
  [`${YAML} 6.1`, ['description:\tone\t'], 'one'],
  ['text from a web page', ['description:\u00a0one'], 'one'],
  ['a blank forgotten', ['description:Reviews code'], 'Reviews code'],
  [`${YAML} 7.4`, ['description : one'], 'one'],
  [`${YAML} 7.3.1`, ['"description": one'], 'one'],
  [`${YAML} 10.1.1`, ['description: !!str 7'], '7'],
  ['emoji', ['description: 🚀 Ships: fast 👩‍👩‍👧'], '🚀 Ships: fast 👩‍👩‍👧'],
  ['very long', [`description: ${'word: '.repeat(170)}`], 'word: '.repeat(170).trim()],
  ['a name in quotes', ['"allowed tools": Read', 'description: b'], 'b'],
  ['a comma within', ['description: "Review",', '  "test" and more'], '"Review", "test" and more'],
  ['a comma at the end', ['description: "Review" or "test",'], '"Review" or "test",'],
  ['unknown fields', ['argument-hint: [file] [more]', 'description: b', 'allowed-tools: Bash(git:*), "Read" x'], 'b'],
  ['unknown fields', ['tags:', '- a', '- b: c', 'description: b', 'metadata: {', '  a: [1', '}'], 'b'],
  ['unknown fields', ['x: 1', 'x: 2', 'hooks: *none', 'description: b', 'triggers: [a,', '  b]'], 'b'],
];

test('any text in a description of a skill is read as text, even if it is not valid YAML', () => {
  for (const [source, lines, text] of DESCRIPTIONS) {
    const found = refusalOf(described(...lines));
    const expected = `accepted: ${JSON.stringify({ name: 'a', description: text, instructions: 'Do it' })}`;
    assert.is(found, expected, `${source}: ${lines.join('\n')}`);
  }
});

/** [who writes or reads such a file, the file] Each has the name `a`, the description `b` and the instructions `Do it`. */
const FILES: readonly (readonly [source: string, text: string])[] = [
  ['Windows', manifest('name: a', 'description: b').replaceAll('\n', '\r\n')],
  ['Mac OS 9', manifest('name: a', 'description: b').replaceAll('\n', '\r')],
  ['blanks after the marks', '---  \nname: a  \ndescription: b\t\n---\t\nDo it\n'],
  ['an end as in pandoc', '---\nname: a\ndescription: b\n...\nDo it'],
  ['empty lines first, as python-frontmatter takes them', '\n\n---\nname: a\ndescription: b\n---\n\nDo it\n\n'],
  ['empty lines between the fields', '---\n\nname: a\n\ndescription: b\n\n---\nDo it'],
  ['all lines indented', '---\n  name: a\n  description: b\n---\nDo it'],
  ['one object', '---\n{name: a, description: b}\n---\nDo it'],
  ['JSON', '---\n{\n  "name": "a",\n  "description": "b"\n}\n---\nDo it'],
  ['JSON without braces', '---\n"name": "a",\n"description": "b",\n---\nDo it'],
  ['JavaScript without braces', "---\nname: 'a',\ndescription: 'b'\n---\nDo it"],
  ['a comment after the name', '---\nname: a # in lower case\ndescription: b\n---\nDo it'],
];

test('the front matter of a skill is read with every line end, mark, indentation and form that others accept', () => {
  for (const [source, text] of FILES) assert.equal(read(text), { name: 'a', description: 'b', instructions: 'Do it' }, source);
});

test('a description is read as a generator of YAML has written it, in each of its styles', () => {
  const texts = DESCRIPTIONS.map(([, , text]) => text);
  for (const style of ['PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'] as const)
    for (const description of texts) {
      const yaml = stringify({ name: 'a', description, license: 'MIT' }, { defaultStringType: style, defaultKeyType: 'PLAIN' });
      assert.is(read(`---\n${yaml}---\nDo it`).description, description, `${style}: ${yaml}`);
    }
});

/** [what is wrong, the file, what the refusal says] */
const REFUSED: readonly (readonly [fault: string, text: string, message: RegExp])[] = [
  ['empty', ' \n', /^SKILL\.md is empty: start it with/],
  ['no front matter', '# Title\n', /^SKILL\.md, line 1, column 1, starts with "# Title": start it with a line ---/],
  ['a code fence', '```markdown\n---\nname: a\n---\n```', /line 1, column 1, starts with "```markdown"/],
  ['TOML', '+++\nname = "a"\n+++\n', /line 1, column 1, starts with "\+\+\+"/],
  ['no end', '---\nname: a\ndescription: b\n', /line 1, column 1, starts fields .* no other line --- ends them/],
  [
    'the end after the text',
    '---\nname: a\ndescription: b\n\n# Title\nSome text\n---\n',
    /line 6, column 1, has the line "Some text" .*end the fields/,
  ],
  [
    'a line that is not indented',
    described('description: one', 'two three'),
    /line 4, column 1, has the line "two three" .* indent a line/,
  ],
  [
    'a line with a colon that is not indented',
    described('description: Line one', 'Line two: has colon'),
    /line 4, column 1, has the line "Line two: has colon" .* indent a line/,
  ],
  ['a line with a colon under no text', described('description:', 'Use when: asked'), /line 4, column 1, has the line "Use when: asked"/],
  ['a line with quotes and a colon', described('description: one', '"two" or "three": 4'), /line 4, column 1, has the line/],
  ['JSON without its first brace', manifest('"name": "a",', '"description": "b"', '}'), /line 4, column 1, has the line "}"/],
  ['a full-width colon', described('description：b'), /line 3, column 1, has the line "description：b"/],
  ['no description', manifest('name: a'), /^SKILL\.md has no field description .* add a line "description: …"/],
  ['a list', manifest('- name', '- description'), /has no field name/],
  ['another case', manifest('Name: a', 'description: b'), /line 2, column 7, has the field Name: write name in lower case/],
  ['a second name', manifest('name: a', 'description: b', 'name: c'), /line 4, column 7, has a second name; the first is in line 2/],
  ['no text', described('description:'), /line 3, column 13, has no text in the field description/],
  ['null', described('description: null'), /line 3, column 14, has no text .* in quotes if null is meant/],
  ['a tilde', described('description: ~'), /in quotes if ~ is meant/],
  ['a block without lines', described('description: >', 'license: MIT'), /line 3, column 14, has no text in the field description/],
  ['lines that are indented less', described('description: |', '    a', '  b'), /line 3, column 14, .*indented alike/],
  ['a list as text', described('description: [a, b]'), /line 3, column 14, has a description that is a list .* in double quotes/],
  ['a list in lines', described('description:', '- a', '- b'), /line 3, column 13, has a description that is a list/],
  ['an object', described('description:', '  short: a', '  long: b'), /description that is a list or an object/],
  ['a quote without its end', described('description: "one two'), /line 3, column 14, .* starts with " without another one at its end/],
  ['an apostrophe first', described("description: 'tis the season"), /starts with ' without .* put the whole text in double quotes/],
  ['an escape that YAML lacks', described('description: "C:\\Users\\me \\d+"'), /line 3, column 14, .*backslash .* use single quotes/],
  ['an object with another value', '---\n{name: [a], description: b}\n---\nDo it', /line 2, column 1, must have an object with the texts/],
  ['too long', manifest('name: a', 'description: b', `more: ${'x'.repeat(17_000)}`), /has 17029 characters .* at most 16384/],
];

test('front matter that cannot be read is refused with line, column and what to write instead', () => {
  for (const [fault, text, message] of REFUSED) assert.match(refusalOf(text), message, fault);
});

test('front matter is read in a time that is proportional to its length', () => {
  const long = 16_000;
  for (const line of [
    ' '.repeat(long),
    `a${' '.repeat(long)}b`,
    `"${'\\"'.repeat(long / 2)}`,
    `'${"' ".repeat(long / 2)}`,
    ` #`.repeat(long / 2),
  ])
    refusalOf(described(`description: ${line}`));
  refusalOf(described('description: b', `x${' '.repeat(long)}`));
});

test.run();
