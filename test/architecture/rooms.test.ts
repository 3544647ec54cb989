import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { variableNames } from '../../infra/config.ts';
import { CALLER_GUARDS } from '../two-tenants/caller-guards.ts';
import { RESOURCE_GUARDS } from '../two-tenants/resource-guards.ts';

const root = join(import.meta.dirname, '../..');

/** What each room may import: other rooms, and packages (node:zlib has the CRC-32 of API keys). Infra may import anything. */
const TABLE: Record<string, { rooms: string[]; packages: RegExp }> = {
  domain: { rooms: ['domain'], packages: /^(zod|node:crypto|node:zlib)$/ },
  commands: { rooms: ['commands', 'domain'], packages: /^zod$/ },
  projections: { rooms: ['projections', 'domain'], packages: /^(zod|kysely)$/ },
  api: { rooms: ['api', 'commands', 'projections', 'domain'], packages: /^(zod|hono|hono\/.+|@hono\/zod-validator)$/ },
};

/** What a room must not contain, however it came there. */
const FORBIDDEN: Record<string, RegExp> = {
  domain: /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandom(UUID|Bytes|Int)\b|\basync\b|\bawait\b|\bPromise\b/,
  projections: /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandom(UUID|Bytes|Int)\b/,
};

const MAX_LINES = 300;
const NAMELESS = ['utils', 'types', 'services', 'helpers', 'index'];
/** Named by what it hands out: the services that a test runs against. */
const EXCUSED = 'test/fixtures/test-services.ts';

const filesOf = (room: string): string[] => globSync(`${room}/**/*.{ts,mjs}`, { cwd: root }).map((file) => file.replaceAll('\\', '/'));

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

const codeOf = (file: string): string =>
  textOf(file)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '$1');

const IMPORTS = [/^(?:import|export)\b[^;'`]*?\bfrom '([^']+)'/gm, /^import '([^']+)'/gm, /\bimport\('([^']+)'\)/g];

const importsOf = (file: string): string[] => IMPORTS.flatMap((pattern) => [...codeOf(file).matchAll(pattern)].map((found) => found[1]!));

const rooms = Object.keys(TABLE);
const everything = [...rooms, 'infra', 'test'];

const strays = (room: string, file: string): string[] =>
  importsOf(file).filter((name) => {
    const { rooms: allowed, packages } = TABLE[room]!;
    if (!name.startsWith('.')) return !packages.test(name);
    const [target] = normalize(join(dirname(file), name)).split(/[\\/]/);
    return !allowed.includes(target!);
  });

for (const room of rooms)
  test(`${room} imports what its row in the table allows`, () =>
    equal(
      filesOf(room).flatMap((file) => strays(room, file).map((name) => `${file} imports ${name}`)),
      [],
    ));

for (const [room, forbidden] of Object.entries(FORBIDDEN))
  test(`${room} has no clock, no chance${room === 'domain' ? ' and no waiting' : ''}`, () =>
    equal(
      filesOf(room).flatMap((file) => {
        const found = forbidden.exec(codeOf(file).replace(/'[^'\n]*'/g, "''"));
        return found ? [`${file} says ${found[0]}`] : [];
      }),
      [],
    ));

test('every test file ends in test.run()', () =>
  equal(
    globSync('test/**/*.test.ts', { cwd: root }).filter((file) => !/^test\.run\(\);\n$/m.test(textOf(file).slice(-'test.run();\n'.length))),
    [],
  ));

test('no file has more than 300 lines', () =>
  equal(
    everything.flatMap(filesOf).filter((file) => textOf(file).trimEnd().split('\n').length > MAX_LINES),
    [],
  ));

test('files are named by what they hold', () =>
  equal(
    everything.flatMap(filesOf).filter((file) => file !== EXCUSED && NAMELESS.includes(basename(file).replace(/\.[^.]+$/, ''))),
    [],
  ));

test('every snippet that the mutation run replaces occurs in its file', () =>
  equal(
    [...CALLER_GUARDS, ...RESOURCE_GUARDS].filter(({ edits }) => edits.some(([file, from]) => !textOf(file).includes(from))),
    [],
  ));

const readme = join(root, 'README.md');
const tableTest = existsSync(readme) ? test : test.skip;

tableTest('the table of variables in the README is the closed list', () => {
  const rows = [...readFileSync(readme, 'utf8').matchAll(/^\|(?: *`[A-Z][A-Z0-9_<>]*` *,?)+\|/gm)].flatMap(
    (row) => row[0].match(/[A-Z][A-Z0-9_<>]*/g) ?? [],
  );
  equal([...rows].sort(), [...variableNames].sort());
});

test.run();
