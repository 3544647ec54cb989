import type { NatsConnection } from 'nats';
import { SCORE_STREAM, scoreSubject } from '../../domain/runners/score-report.ts';
import { manager, STREAM } from './jetstream.ts';
import { CONSUMER_NOT_FOUND, MESSAGE_NOT_FOUND, nullOnCode, STREAM_NOT_FOUND } from './jetstream-errors.ts';

/** Removes results of benchmark tasks that are published but not recorded yet. */
const removeResults = async (nats: NatsConnection, tenant: string): Promise<void> => {
  const { streams } = await manager(nats);
  await nullOnCode(streams.purge(SCORE_STREAM, { filter: scoreSubject(tenant, '*') }), STREAM_NOT_FOUND);
};

/** Also removes messages from runners, and the agents' consumers. The server overwrites each message. Returns the number to runners. */
export const removeTenantMessages = async (nats: NatsConnection, tenant: string): Promise<number> => {
  const { streams, consumers } = await manager(nats);
  await removeResults(nats, tenant);
  const subjects_filter = `agents.${tenant}.>`;
  const found = await nullOnCode(streams.info(STREAM, { subjects_filter }), STREAM_NOT_FOUND);
  if (!found) return 0;
  let count = 0;
  for (const subject of Object.keys(found.state.subjects ?? {})) {
    for (let seq = found.state.first_seq; ; ) {
      // The types of the library lack `next_by_subj`.
      const next = { seq, next_by_subj: subject };
      const message = await nullOnCode(streams.getMessage(STREAM, next), MESSAGE_NOT_FOUND);
      if (!message) break;
      // If the server is a cluster, another request may already have removed the message.
      await nullOnCode(streams.deleteMessage(STREAM, message.seq, true), MESSAGE_NOT_FOUND);
      count += 1;
      seq = message.seq + 1;
    }
  }
  for await (const { name, config } of consumers.list(STREAM))
    if (config.filter_subject?.startsWith(`agents.${tenant}.`)) await nullOnCode(consumers.delete(STREAM, name), CONSUMER_NOT_FOUND);
  return count;
};
