import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, ok } from 'uvu/assert';
import { GUARDRAIL_KINDS } from '../../domain/guardrails/guardrail-rule.ts';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { root } from '../fixtures/child-process.ts';
import { documentation } from '../fixtures/documents.ts';

/** Returns the code spans in the first column of the table with the header row `head`. */
const firstColumn = (head: string): string[] => {
  const [, table] = documentation.split(`\n${head}\n`);
  ok(table, `the documentation has no table ${head}`);
  const rows = table.split('\n\n')[0]!.split('\n').slice(1);
  return rows.flatMap((row) => [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(([, text]) => text!));
};

test('the table of providers lists exactly the providers that an integration can have', () =>
  equal(firstColumn('| `provider` | signature | `secret` | delivery id |').sort(), [...PROVIDERS].sort()));

test('the table of guardrails lists exactly the kinds of rules', () =>
  equal(firstColumn('| `kind` | `options` | applies to a delivery |').sort(), [...GUARDRAIL_KINDS].sort()));

/** Names in the sources that begin as metrics do: not metrics, but the prefix of a table and a part of other names. */
const OTHER_NAMES = ['annals_test_'];

test('the table of metrics lists exactly the metrics that the processes export', () => {
  const sources = globSync('infra/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));
  const exported = new Set(sources.flatMap((text) => text.match(/\bannals_[a-z]+_[a-z_]+|\bannals_consumers\b/g) ?? []));
  for (const name of OTHER_NAMES) exported.delete(name);
  const listed = firstColumn('| metric | of | meaning |').map((text) => text.replace(/\{.*\}/, ''));
  const isListed = (name: string): boolean =>
    listed.some((each) => each === name || (each.endsWith('…') && name.startsWith(each.slice(0, -1))));
  equal(
    [...exported].filter((name) => !isListed(name)),
    [],
    'metrics that the table lacks',
  );
  equal(
    listed.filter((each) => ![...exported].some((name) => name === each || (each.endsWith('…') && name.startsWith(each.slice(0, -1))))),
    [],
    'rows without a metric',
  );
});

test.run();
