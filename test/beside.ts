import pino from 'pino';
import type { Log } from '../infra/eventstore/log.ts';
import { hotOf, platform } from '../infra/platform.ts';
import { projections } from '../projections/all.ts';
import { memorySink } from '../projections/memory.ts';
import { afterwards } from './ending.ts';
import type { InMemory } from './people.ts';

/** The views of a log, kept in memory. */
const viewsOf = (log: Log) => {
  const sink = memorySink(projections);
  const following = log.follow({ event: (event) => sink.feed([event]) });
  afterwards(() => following.stop());
  return sink.reads;
};

/** Another API process over the same log, or over another one: a cache and a subscription of its own. */
export const beside = async (p: InMemory, log: Log = p.log, now = () => p.clock.now()) => {
  const hot = hotOf(log);
  await hot.start();
  const { app, close, systemContext } = platform({
    log,
    hot,
    vault: p.vault,
    reads: log === p.log ? p.sink.reads : viewsOf(log),
    logger: pino({ level: 'silent' }),
    publicUrl: 'http://annals.test',
    operations: p.operations,
    plain: () => undefined,
    address: () => '127.0.0.1',
    now,
  });
  const send = async (method: string, path: string, key: string, body?: object): Promise<Response> =>
    app.request(path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const closeBoth = async (): Promise<void> => {
    await close();
    await hot.close();
  };
  afterwards(closeBoth);
  return { send, systemContext, get: async (path: string, key: string) => (await send('GET', path, key)).status, close: closeBoth };
};
