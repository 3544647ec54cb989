import { globSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { CALLER_GUARDS } from '../two-tenants/caller-guards.ts';
import { CREDENTIAL_GUARDS } from '../two-tenants/credential-guards.ts';
import { INVITATION_GUARDS } from '../two-tenants/invitation-guards.ts';
import { RESOURCE_GUARDS } from '../two-tenants/resource-guards.ts';
import { SESSION_GUARDS } from '../two-tenants/session-guards.ts';
import { SKILL_GUARDS } from '../two-tenants/skill-guards.ts';
import { TOOL_GUARDS } from '../two-tenants/tool-guards.ts';
import { FOLDERS } from './folders.ts';
import { filesOf, importedFiles, importsOf, root, textOf, withoutComments } from './source-files.ts';

/**
 * What each top-level source folder ('room', see docs/architecture.md) may import: other rooms, and packages. The room domain may
 * import node:zlib only to compute the CRC-32 checksum of API keys. The room infra is not listed, because it may import
 * anything.
 */
const ALLOWED_IMPORTS: Record<string, { rooms: string[]; packages: RegExp }> = {
  domain: { rooms: ['domain'], packages: /^(zod|node:buffer|node:crypto|node:zlib)$/ },
  commands: { rooms: ['commands', 'domain'], packages: /^zod$/ },
  projections: { rooms: ['projections', 'domain'], packages: /^(zod|kysely)$/ },
  api: {
    rooms: ['api', 'commands', 'projections', 'domain'],
    packages: /^(zod|diff|hono|hono\/.+|@hono\/zod-validator|markdown-it)$/,
  },
};

/**
 * For each top-level source folder ('room'), patterns of code that its files must not contain, such as reading the
 * clock.
 */
const FORBIDDEN_CODE: Record<string, RegExp> = {
  domain: /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandom(UUID|Bytes|Int)\b|\basync\b|\bawait\b|\bPromise\b/,
  projections: /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\brandom(UUID|Bytes|Int)\b/,
};

/** The packages that a module for browsers may import by name. At the moment, it may import none. */
const BROWSER_PACKAGES: readonly string[] = [];

/** Auditors copy the verifier alone, so it cannot be split; its first 76 lines are their manual. */
const maxLinesOf = (file: string): number => (file === 'infra/audit/verify-audit-export.mjs' ? 600 : 300);
const VAGUE_NAMES = ['utils', 'types', 'services', 'helpers', 'index'];

const rooms = Object.keys(ALLOWED_IMPORTS);
const roomsAndInfra = [...rooms, 'infra'];
const everywhere = [...roomsAndInfra, 'test'];

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Searches the graph depth-first for a cycle. Returns the nodes of the first cycle, or an empty list if there is none.
 */
const findCycle = (graph: Graph): string[] => {
  const finished = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (finished.has(node)) return [];
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node]);
      if (cycle.length > 0) return cycle;
    }
    finished.add(node);
    return [];
  };
  for (const node of graph.keys()) {
    const cycle = visit(node, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
};

const fileGraph: Graph = new Map(roomsAndInfra.flatMap(filesOf).map((file) => [file, new Set(importedFiles(file))]));

const folderOf = (room: string, file: string): string => relative(room, dirname(file)).replaceAll('\\', '/');

/**
 * Returns, for each folder of a room (a top-level source folder), the other folders of that room that its files import.
 * The files directly in the room are left out: they are registries, which import every area.
 */
const folderGraph = (room: string): Graph => {
  const graph = new Map<string, Set<string>>();
  for (const file of filesOf(room)) {
    const from = folderOf(room, file);
    const targets = importedFiles(file).filter((target) => target.startsWith(`${room}/`));
    for (const to of targets.map((target) => folderOf(room, target)))
      if (from !== '' && to !== '' && from !== to) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  }
  return graph;
};

const forbiddenImports = (room: string, file: string): string[] =>
  importsOf(file).filter((name) => {
    const allowed = ALLOWED_IMPORTS[room]!;
    if (!name.startsWith('.')) return !allowed.packages.test(name);
    const [target] = normalize(join(dirname(file), name)).split(/[\\/]/);
    return !allowed.rooms.includes(target!);
  });

for (const room of rooms)
  test(`the folder ${room} imports only from the folders and packages that are allowed for it`, () =>
    equal(
      filesOf(room).flatMap((file) => forbiddenImports(room, file).map((name) => `${file} imports ${name}`)),
      [],
    ));

test('the console imports only from the folder api, so it can do nothing that the API cannot', () =>
  equal(
    [...filesOf('api/console'), ...filesOf('api').filter((file) => /^api\/[\w-]+\/console\//.test(file))].flatMap((file) =>
      importedFiles(file)
        .filter((target) => !target.startsWith('api/'))
        .map((target) => `${file} imports ${target}`),
    ),
    [],
  ));

test('the modules for browsers import only modules of their own folder, and named packages', () =>
  equal(
    filesOf('api/console/browser').flatMap((file) =>
      importsOf(file)
        .filter((name) => !/^\.\/[\w-]+\.mjs$/.test(name) && !BROWSER_PACKAGES.includes(name))
        .map((name) => `${file} imports ${name}`),
    ),
    [],
  ));

for (const [room, forbidden] of Object.entries(FORBIDDEN_CODE))
  test(`the code of the folder ${room} uses no clock and no randomness${room === 'domain' ? ', and is never asynchronous' : ''}`, () =>
    equal(
      filesOf(room).flatMap((file) => {
        const found = forbidden.exec(withoutComments(file).replace(/'[^'\n]*'/g, "''"));
        return found ? [`${file} contains ${found[0]}`] : [];
      }),
      [],
    ));

for (const room of everywhere)
  test(`the folder ${room} contains only the folders that this test lists`, () => {
    const folders = new Set(filesOf(room).map((file) => folderOf(room, file)));
    equal(
      [...folders].filter((folder) => folder !== '' && !FOLDERS[room]!.includes(folder)),
      [],
    );
  });

test('the imports between files form no cycle', () => equal(findCycle(fileGraph), []));

for (const room of roomsAndInfra)
  test(`the imports between the folders of ${room} form no cycle`, () => equal(findCycle(folderGraph(room)), []));

test('findCycle returns the nodes of a cycle that a graph contains', () => {
  const graph: Graph = new Map([
    ['a', new Set(['b', 'c'])],
    ['b', new Set(['c'])],
    ['c', new Set(['d'])],
    ['d', new Set(['b'])],
  ]);
  equal(findCycle(graph), ['b', 'c', 'd', 'b']);
});

test('api/areas.ts lists every area, and leads to every file that defines operations or plain routes', () => {
  equal(
    importedFiles('api/areas.ts')
      .filter((file) => file.endsWith('.area.ts'))
      .sort(),
    filesOf('api')
      .filter((file) => file.endsWith('.area.ts'))
      .sort(),
  );
  const reached = new Set(['api/areas.ts']);
  for (const file of reached) for (const next of fileGraph.get(file) ?? []) reached.add(next);
  equal(
    filesOf('api').filter((file) => /\b(?:operation\(\{|plainRoutes\(\[)/.test(withoutComments(file)) && !reached.has(file)),
    [],
  );
});

test('every file name in infra is unique', () => {
  const names = filesOf('infra').map((file) => basename(file));
  equal(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
});

const SQL = /['"`](?:select|insert into|update|delete from|create|alter|drop) [^'"`]*\b(?:from|set|values|table|schema|index|extension)\b/;
const MAY_HOLD_SQL = ['infra/readmodel/', 'infra/projector/', 'infra/postgres/', 'infra/ratelimit/', 'infra/spool/'];

test('SQL text occurs only in the folders of infra that execute SQL; all other code builds its queries with Kysely', () =>
  equal(
    roomsAndInfra
      .flatMap(filesOf)
      .filter((file) => !MAY_HOLD_SQL.some((folder) => file.startsWith(folder)) && SQL.test(withoutComments(file))),
    [],
  ));

const PRINTS = /\bconsole\.\w+\(|\bprocess\.std(?:out|err)\.write\(/;
/** The files that print: they escape control characters, or print bytes to a pipe, or only texts of their own. */
const MAY_PRINT = [
  'infra/logging/print-line.ts',
  'infra/processes/exit.ts',
  'infra/runner/runner.ts',
  // Passes standard error of a command on as the command has written it.
  'infra/runner/run-command.ts',
  'infra/runner/runner-client.ts',
  'infra/annals.mjs',
  'infra/audit/verify-audit-export.mjs',
  'infra/cli/print-events.ts',
  'infra/cli/api/print-answer.ts',
  'infra/cli/api/shell-completion.ts',
  'infra/main-command.ts',
  'infra/cli/projections/rebuild-projections.ts',
  'infra/cli/projections/verify-progress.ts',
  'infra/run-cli.ts',
  'infra/ensure.mjs',
];

test('only the files that this test lists print without the function that escapes control characters', () =>
  equal(
    filesOf('infra')
      .filter((file) => PRINTS.test(withoutComments(file)))
      .sort(),
    [...MAY_PRINT].sort(),
  ));

test('the programs of serve and work import at most 25 of our files', () => {
  const counts = ['serve', 'work'].map((name) => importedFiles(`infra/processes/${name}.ts`).length);
  equal(
    counts.filter((count) => count > 25 || count === 0),
    [],
    counts.join(),
  );
});

test('the program finds its own files through infra/program.ts, because a bundle has them at other paths', () => {
  const ownPath = /import\.meta\.(dirname|filename|url)/;
  const packagePath = /createRequire\(import\.meta\.url\)/g;
  const finding = roomsAndInfra
    .flatMap(filesOf)
    .filter((file) => /\.ts$/.test(file) && ownPath.test(withoutComments(file).replaceAll(packagePath, '')));
  equal(finding.sort(), ['infra/processes/bundle-program.ts', 'infra/program.ts']);
});

test('every test file ends in test.run()', () =>
  equal(
    globSync('test/**/*.test.ts', { cwd: root }).filter((file) => !/^test\.run\(\);\n$/m.test(textOf(file).slice(-'test.run();\n'.length))),
    [],
  ));

const styleSheets = globSync('api/console/style/*.css', { cwd: root }).map((file) => file.replaceAll('\\', '/'));

test('no file of code or styles has more than 300 lines', () =>
  equal(
    [...everywhere.flatMap(filesOf), ...styleSheets].filter((file) => textOf(file).trimEnd().split('\n').length > maxLinesOf(file)),
    [],
  ));

test('no file has a name on the list of vague names, such as utils or index', () =>
  equal(
    everywhere.flatMap(filesOf).filter((file) => VAGUE_NAMES.includes(basename(file).replace(/\.[^.]+$/, ''))),
    [],
  ));

test('every line of code that the mutation tests replace still exists in its source file', () =>
  equal(
    [
      ...CALLER_GUARDS,
      ...CREDENTIAL_GUARDS,
      ...RESOURCE_GUARDS,
      ...INVITATION_GUARDS,
      ...SESSION_GUARDS,
      ...SKILL_GUARDS,
      ...TOOL_GUARDS,
    ].filter(({ edits }) => edits.some(([file, from]) => !textOf(file).includes(from))),
    [],
  ));

test.run();
