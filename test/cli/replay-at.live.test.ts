import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { replay } from '../../infra/cli/print-events.ts';
import { loadConfig } from '../../infra/config.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { startStore } from '../fixtures/store-process.ts';

const TENANT = `c${'t'.repeat(24)}`;
const store = await startStore();
const log = openLog(store.url);
const config = { ...loadConfig({}), eventstoreUrl: store.url, databaseUrl: 'postgres://unused' };

const append = async (stream: string, type: string) => {
  const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 };
  return log.append(stream, 'none', [{ id: randomUUID(), type, data: {}, meta }]);
};
await append(`blackout-${TENANT}.one`, 'BlackoutDeclared');
const { position } = await append(`cronrun-${TENANT}.run`, 'CronSuppressed');
await append(`blackout-${TENANT}.two`, 'BlackoutDeclared');

/** Runs the replay command. @returns the names of the streams whose events it prints */
const streamsOf = async (options: object): Promise<string[]> => {
  const written: string[] = [];
  const { write } = process.stdout;
  process.stdout.write = ((text: string) => written.push(String(text)) > 0) as typeof write;
  try {
    await replay(config as never, { tenant: TENANT, reverse: false, follow: false, pretty: false, ...options });
  } finally {
    process.stdout.write = write;
  }
  const lines = written.join('').split('\n');
  return lines.filter((line) => line.startsWith('{')).map((line) => (JSON.parse(line) as { stream: string }).stream);
};

test('annals replay --at prints the events up to the given position, and no later ones', async () => {
  const at = tokenOf(position);
  assert.equal(await streamsOf({ at }), [`blackout-${TENANT}.one`, `cronrun-${TENANT}.run`]);
  assert.equal(await streamsOf({ at, type: 'BlackoutDeclared' }), [`blackout-${TENANT}.one`]);
  assert.equal((await streamsOf({ type: 'BlackoutDeclared' })).length, 2);
});

test('annals replay --at prints an error for a malformed position, and for the options --to and --follow', async () => {
  for (const options of [{ at: '1:1', to: '2:2' }, { at: '1:1', follow: true }, { at: 'yesterday' }])
    await streamsOf(options).then(
      () => assert.unreachable(JSON.stringify(options)),
      ({ name }: Error) => assert.is(name, 'CLIError', JSON.stringify(options)),
    );
});

test.after(async () => {
  await log.close();
  await store.end();
});
test.run();
