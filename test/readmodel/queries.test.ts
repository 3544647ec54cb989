import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { format } from 'sql-formatter';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readsOver } from '../../infra/readmodel/postgres-read-model.ts';
import { AGENT_SORTS, agentPage } from '../../projections/agents/agent.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { QUERY_CASES } from '../fixtures/query-cases.ts';

const root = `${import.meta.dirname}/../..`;
const SNAPSHOT = `${import.meta.dirname}/queries.sql`;

/**
 * Returns the SQL texts of all statements that `call` sends to the read models. Every query gets a result without rows.
 */
const statementsOf = async (call: (reads: Reads) => unknown): Promise<string[]> => {
  const texts: string[] = [];
  const reads = readsOver(async <R>({ text }: { text: string }) => {
    texts.push(text);
    const noRows = { body: null, found: 0, held: 0, value: null, id: null };
    return (text.includes('"found"') ? [noRows] : []) as R[];
  });
  await call(reads as Reads);
  return texts;
};

type Section = { readonly label: string; readonly texts: readonly string[] };

const lengthOf = ({ texts }: Section): number => texts.join('').length;

/** The query whose further pages are kept, too: they differ from the first page in the same way for all lists. */
const PAGED = 'agentPage';
const isFurtherPage = ({ label }: Section): boolean => /^ascending$|next page$/.test(label);

/**
 * Returns the cases of a query that show its SQL without repetitions: the first one, and the longest of the others,
 * which is that with the most filters.
 */
const withoutRepetitions = (name: string, [first, ...others]: readonly Section[]): readonly Section[] => {
  const [longest] = others.filter((one) => !isFurtherPage(one)).toSorted((one, other) => lengthOf(other) - lengthOf(one));
  return [first!, ...(name === PAGED ? others.filter(isFurtherPage) : []), ...(longest ? [longest] : [])];
};

const render = async (): Promise<string> => {
  const sections: string[] = [];
  for (const [name, cases] of Object.entries(QUERY_CASES)) {
    const all: Section[] = [];
    for (const [label, { run }] of Object.entries(cases)) all.push({ label, texts: await statementsOf(run) });
    for (const { label, texts } of withoutRepetitions(name, all))
      for (const text of texts) sections.push(`-- ${name}: ${label}\n${format(text, { language: 'postgresql', expressionWidth: 100 })};\n`);
  }
  return sections.join('\n');
};

test('every query function of the read models has a case in this test', async () => {
  const files = globSync('projections/*/*.queries.ts', { cwd: root });
  assert.ok(files.length > 8);
  const modules = await Promise.all(files.map((file) => import(`${root}/${file}`) as Promise<Record<string, unknown>>));
  const functions = modules.flatMap((exported) => Object.keys(exported).filter((name) => typeof exported[name] === 'function'));
  assert.equal(functions.toSorted(), Object.keys(QUERY_CASES).toSorted());
});

test('the SQL of every query equals that in queries.sql; to accept a change, run this file with UPDATE_SQL=1', async () => {
  const rendered = await render();
  if (process.env.UPDATE_SQL === '1') writeFileSync(SNAPSHOT, rendered);
  assert.fixture(readFileSync(SNAPSHOT, 'utf8'), rendered);
});

test('at most 500 statements stay prepared on a database connection, even if callers use more combinations of query arguments', async () => {
  const names = new Set<string>();
  const texts = new Set<string>();
  const reads = readsOver(async <R>({ name, text }: { name: string; text: string }) => {
    if (name) names.add(name);
    texts.add(text);
    return [{ body: null, found: 0, held: 0, value: null, id: null }] as R[];
  }) as Reads;
  for (const descending of [true, false])
    for (const column of AGENT_SORTS)
      for (let limit = 1; limit <= 60; limit++)
        await agentPage(reads, 't', { visibility: { all: true } }, { sort: { column, descending }, limit });
  assert.ok(texts.size > 900, `${texts.size} texts`);
  assert.is(names.size, 500);
});

test.run();
