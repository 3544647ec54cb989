import { test } from 'uvu';
import { equal } from 'uvu/assert';
import { coverageOf, type TestFile } from './coverage.ts';
import { placesIn } from './places.ts';
import { importersIn, reachOf } from './reach.ts';

const FILE = 'domain/agents/agent.ts';
const SOURCE = 'const MAX = 5;\nconst used = () => 1;\nconst unused = () => 2;\nconst atLoad = () => 3;\nconst curried = () => () => 4;\n';

const places = placesIn(FILE, SOURCE);

/** Returns the range that V8 reports for a function. */
const rangeOf = (code: string): readonly [number, number] => {
  const start = SOURCE.lastIndexOf(code);
  return [start, start + code.length];
};

const testFile = (file: string, seconds: number, passes = true): TestFile => ({ file, seconds, passes });
const TESTS = [
  testFile('test/agents/slow.api.test.ts', 9),
  testFile('test/agents/agent.decision.test.ts', 1),
  testFile('test/http/openapi.test.ts', 2),
  testFile('test/http/other.test.ts', 1),
  testFile('test/agents/broken.test.ts', 1, false),
];

const module = [0, SOURCE.length] as const;
const coverage = coverageOf(TESTS, [
  { file: 'test/agents/slow.api.test.ts', calls: { [FILE]: [module, rangeOf('() => 1'), rangeOf('() => 3')] } },
  { file: 'test/agents/agent.decision.test.ts', calls: { [FILE]: [rangeOf('() => 1'), rangeOf('() => () => 4')] } },
  { file: 'test/http/openapi.test.ts', calls: { [FILE]: [rangeOf('() => 1')] } },
  { file: 'test/agents/broken.test.ts', calls: { [FILE]: [rangeOf('() => 1')] } },
]);

const importers = importersIn(
  new Map([
    ['commands/agents/agent.ts', [FILE]],
    ['test/agents/agent.decision.test.ts', [FILE]],
    ['test/http/other.test.ts', ['commands/agents/agent.ts']],
    ['test/tools/tool.test.ts', ['domain/tools/tool.ts']],
  ]),
);

const reachIn = (scope: string) => reachOf(coverage, importers, places.find((place) => place.scope === scope)!);

test('the test files that call a function reach it: first those of its area, of these first the fastest', () =>
  equal(reachIn('used'), {
    near: ['test/agents/agent.decision.test.ts', 'test/agents/slow.api.test.ts'],
    far: ['test/http/openapi.test.ts'],
  }));

test('no test file reaches a function that is never called', () => equal(reachIn('unused'), { near: [], far: [] }));

test('no test file reaches a function that is created but not called', () => equal(reachIn('curried'), { near: [], far: [] }));

for (const scope of ['MAX', 'atLoad'])
  test(`all test files that import the module reach ${scope}, which is computed when the module is loaded`, () =>
    equal(reachIn(scope), { near: ['test/agents/agent.decision.test.ts'], far: ['test/http/other.test.ts'] }));

test.run();
