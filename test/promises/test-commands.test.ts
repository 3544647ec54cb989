import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, is, match, ok } from 'uvu/assert';
import { variableNames } from '../../infra/config.ts';
import { BROKER_OUTAGES } from '../faults/broker-faults.ts';
import { root } from '../fixtures/child-process.ts';
import { documentation, exampleOf } from '../fixtures/documents.ts';
import { runOptions } from '../run-options.ts';
import { RINGS, ringOf, selectedFiles } from '../test-files.ts';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };

test('every npm script that the documentation names exists', () => {
  const named = [...documentation.matchAll(/npm (?:run ([a-z:]+)|(start|test)\b)/g)].map(([, script, short]) => script ?? short!);
  ok(named.length > 20, 'the documentation names scripts');
  equal(
    named.filter((name) => scripts[name] === undefined),
    [],
  );
});

test('every fault that the documentation names exists', () => {
  const named = [...documentation.matchAll(/--only ([\w-]+)/g)].map(([, fault]) => fault!);
  ok(named.length > 0, 'the documentation names a fault');
  equal(
    named.filter((fault) => !BROKER_OUTAGES.some((kind) => fault === `F12-${kind}`)),
    [],
  );
});

test('npm run check runs the linter, the compiler twice and the test of the layers', () => {
  const parts = scripts.check!.split(' && ');
  is(parts.filter((part) => part.includes('typescript/bin/tsc')).length, 2, scripts.check);
  for (const part of ['biome check', 'node test/architecture/rooms.test.ts']) ok(parts.includes(part), part);
});

test('the name of a test file tells its ring', () => {
  equal(
    ['a.live', 'a.browser', 'a.faults', 'a.decision', 'a.api', 'a.contract', 'a'].map((name) => ringOf(`test/a/${name}.test.ts`)),
    ['live', 'browser', 'faults', 'quick', 'quick', 'quick', 'quick'],
  );
  for (const ring of RINGS.slice(1)) match(scripts[`test:${ring}`]!, `--ring ${ring}`);
});

test('parts of paths select files of all rings, and four quarters are all files', () => {
  const found = selectedFiles(runOptions(['deliveries/', 'audit/']));
  const expected = globSync('test/{deliveries,audit}/**/*.test.ts', { cwd: root });
  equal([...found].sort(), [...expected].sort());
  ok(new Set(found.map(ringOf)).size > 1, 'the files belong to several rings');
  const quarters = ['1/4', '2/4', '3/4', '4/4'].map((shard) => selectedFiles(runOptions(['--shard', shard])));
  equal(quarters.flat().sort(), selectedFiles(runOptions([])).sort());
  const sizes = quarters.map(({ length }) => length);
  ok(Math.max(...sizes) - Math.min(...sizes) <= 1, `${sizes}`);
});

test('the benchmarks that the documentation names are listed by --help', () => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['test/bench/main.ts', '--help'], { cwd: root, encoding: 'utf8' });
  is(status, 0, stderr);
  const [, named] = /--help` lists them: ([^)]*)\)/.exec(documentation) ?? [];
  is(named, 'HTTP, event store, growth, rebuild, projection lag, delivery to runners');
  for (const name of ['W1', 'store', 'growth', 'rebuild', 'lag', 'delivery', 'proofs'])
    match(stdout, `npm run bench -- ${name === 'W1' ? '[W1' : name}`);
});

test('the container file of the documentation uses files, variables and a path that exist', () => {
  const container = exampleOf('dockerfile', 'FROM');
  for (const file of ['infra/ensure.mjs', 'infra/main.ts']) ok(container.includes(file) && existsSync(join(root, file)), file);
  const [, variables = ''] = /^ENV (.*)$/m.exec(container) ?? [];
  for (const [name] of variables.split(' ').map((each) => each.split('='))) ok(variableNames.includes(name!), name);
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
  const [, major] = /^FROM node:(\d+)/m.exec(container) ?? [];
  ok(Number(major) >= Number(engines.node.replace('>=', '')), `Node ${major}`);
  match(container, /EXPOSE 4100.*:4100\/readyz/s);
});

test.run();
