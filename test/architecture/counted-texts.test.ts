import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { counted, nounOf } from '../../domain/counted.ts';
import { filesOf, withoutComments } from './source-files.ts';

const NOUNS = [
  ...['deliveries', 'events', 'bytes', 'files', 'rows', 'keys', 'entries', 'secrets', 'tenants', 'characters', 'items', 'problems'],
  ...['heads', 'minutes', 'hours', 'days', 'attempts', 'messages', 'runs', 'members', 'jobs', 'models', 'skills', 'tools', 'streams'],
  ...['places', 'segments', 'projections', 'lines', 'pages', 'users', 'roles', 'columns', 'attachments', 'payloads', 'bodies', 'calls'],
  ...['fields', 'tasks', 'chunks', 'parts', 'sessions', 'settings', 'hits', 'agents', 'blackouts', 'findings', 'reservations'],
];
/** A number in a text, then at most one word, then a noun in the plural. */
const PLURAL = new RegExp(`\\$\\{([^{}]*(?:\\{[^{}]*\\}[^{}]*)*)\\} (?:[a-z]+ )?(?:${NOUNS.join('|')})\\b(?!/)`, 'g');
/** Limits, which are never 1: constants, and values that are named so. */
const LIMIT = /\b[A-Z][A-Z_]{2,}\b|\bmax[A-Z]?\w*$|\blimit$/;
/** Texts in which the number is never 1, or in which the word after the number is not a counted noun. */
const NEVER_ONE = [
  ['infra/rotation/rotate-data-key.ts', 'files were encrypted again'],
  ['infra/eventstore/event-codec.ts', 'bytes; one append takes at most'],
  ['commands/benchmarks/task-report.ts', 'bytes: leave out parts'],
  ['api/console/parts/json-tree.ts', 'characters)'],
  ['infra/cli/projections/rebuild-projections.ts', 'only in the '],
] as const;

const wrongIn = (file: string): string[] =>
  withoutComments(file)
    .split('\n')
    .filter((line) => !line.includes('=== 1') && !NEVER_ONE.some(([known, text]) => file === known && line.includes(text)))
    .flatMap((line) => [...line.matchAll(PLURAL)].filter(([, number]) => !LIMIT.test(number!) && !/nam|host|url|path/i.test(number!)))
    .map(([text]) => `${file}: ${text}`);

test('no text has a plural noun after the number 1: counts are written with the function counted', () =>
  assert.equal(
    ['domain', 'commands', 'projections', 'api', 'infra']
      .flatMap(filesOf)
      .flatMap(wrongIn)
      .filter((text) => !/counted\(/.test(text)),
    [],
  ));

const counts: [number, string, string][] = [
  [0, 'delivery', '0 deliveries'],
  [1, 'delivery', '1 delivery'],
  [2, 'delivery', '2 deliveries'],
  [1, 'entry', '1 entry'],
  [3, 'key', '3 keys'],
  [2, 'day', '2 days'],
  [1_204, 'different event', '1204 different events'],
];
for (const [count, noun, text] of counts) test(`a count has its noun: ${text}`, () => assert.is(counted(count, noun), text));

test('a noun without its number is singular or plural as the count requires', () =>
  assert.equal([nounOf(1, 'row'), nounOf(2, 'row')], ['row', 'rows']));

test.run();
