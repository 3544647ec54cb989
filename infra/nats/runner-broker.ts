import { type Msg, type NatsConnection, RequestStrategy } from 'nats';
import { z } from 'zod';
import { inBatches } from '../../api/http/in-batches.ts';
import type { AgentQueue, RunnerBroker } from '../../commands/runners/runner-broker.ts';
import { parseToken } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { inboundSubject } from '../../domain/runners/cloud-event.ts';
import type { RunnerConnection } from '../../domain/runners/runner-presence.ts';
import { connectNats } from './connect.ts';
import { manager, readTip, STREAM } from './jetstream.ts';
import { MESSAGE_NOT_FOUND, nullOnCode, STREAM_NOT_FOUND } from './jetstream-errors.ts';
import { runnerConsumer, storedMessages } from './outstanding-messages.ts';
import type { BrokerAddress } from './runner-users.ts';

/** Every server answers with the connections of the requester's account. */
const CONNECTIONS_SUBJECT = '$SYS.REQ.ACCOUNT.PING.CONNZ';
const OPEN_AND_CLOSED = 2;
const ANSWER_TIMEOUT_MS = 2_000;
/** An agent can have hundreds of credentials, and each question is one request. */
const KEYS_AT_ONCE = 50;
/** The time to wait for the answer of another server of the cluster, in milliseconds. */
const CLUSTER_PAUSE_MS = 200;

const Time = z.string().transform((text) => new Date(text).toISOString());
const Answer = z.object({
  data: z.object({
    connections: z
      .array(z.object({ start: Time, stop: Time.optional(), last_activity: Time }))
      .nullish()
      .transform((connections) => connections ?? []),
  }),
});

const unavailable = (cause: unknown): Refusal =>
  Object.assign(new Refusal('unavailable', 'The message broker does not answer: try again', { retryAfter: 5 }), { cause });

const orUnavailable = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw error instanceof Refusal ? error : unavailable(error);
  });

/** Sends a request to all servers of the cluster, and returns their answers. @throws NatsError if no server answers */
const ask = async (nats: NatsConnection, question: string): Promise<Msg[]> => {
  if ((nats.info as { cluster?: string } | undefined)?.cluster === undefined)
    return [await nats.request(CONNECTIONS_SUBJECT, question, { timeout: ANSWER_TIMEOUT_MS })];
  const options = { strategy: RequestStrategy.JitterTimer, jitter: CLUSTER_PAUSE_MS, maxWait: ANSWER_TIMEOUT_MS };
  const answers: Msg[] = [];
  for await (const answer of await nats.requestMany(CONNECTIONS_SUBJECT, question, options)) answers.push(answer);
  if (answers.length === 0) throw new Error('no server of the cluster answers');
  return answers;
};

/** @throws NatsError, or Error if an answer cannot be parsed */
const connectionsOfUser = async (nats: NatsConnection, publicKey: string): Promise<RunnerConnection[]> => {
  const answers = await ask(nats, JSON.stringify({ user: publicKey, state: OPEN_AND_CLOSED }));
  return answers
    .flatMap((answer) => Answer.parse(answer.json()).data.connections)
    .map(({ start, stop, last_activity }) => ({ from: start, until: stop ?? null, active_at: last_activity }));
};

const EMPTY: AgentQueue = { waiting: 0, running: 0, first: null, publishedThrough: null };

/** @throws NatsError */
const readQueue = async (nats: NatsConnection, tenant: string, agent: string): Promise<AgentQueue> => {
  const tip = await nullOnCode(readTip(nats), STREAM_NOT_FOUND);
  if (!tip) return EMPTY;
  const consumer = await runnerConsumer(nats, agent);
  const waiting = consumer ? consumer.num_pending : await storedMessages(nats, tenant, agent);
  const { streams } = await manager(nats);
  const query = { seq: (consumer?.delivered.stream_seq ?? 0) + 1, next_by_subj: inboundSubject(tenant, agent) };
  // The server supports this query, but the client's TypeScript type does not contain it.
  const next = waiting === 0 ? null : await nullOnCode(streams.getMessage(STREAM, query as { seq: number }), MESSAGE_NOT_FOUND);
  return {
    waiting,
    running: consumer?.num_ack_pending ?? 0,
    first: next && { at: next.time.toISOString(), position: parseToken(next.header.get('Annals-Position')) },
    publishedThrough: tip.token === null ? null : parseToken(tip.token),
  };
};

type Broker = { readonly connection: () => Promise<NatsConnection>; readonly isHealthy: () => boolean };

/**
 * Creates the functions that read what the broker knows about runners. `broker` is a connection to the account with the
 * streams. A server lists the connections of an account only to users of this account. So the first call that needs
 * this list opens another connection, to the account of the runners. `close` closes it.
 */
export const openRunnerBroker = (broker: Broker, { natsUrl, natsAccountSeed, natsRunnerAccountSeed }: BrokerAddress) => {
  const hasOwnAccount = natsRunnerAccountSeed !== undefined && natsRunnerAccountSeed !== natsAccountSeed;
  let opening: Promise<NatsConnection> | null = null;

  const connection = async (): Promise<NatsConnection> => {
    const nats = await broker.connection();
    if (!broker.isHealthy()) throw unavailable('the connection is lost');
    return nats;
  };

  const runnersConnection = async (): Promise<NatsConnection> => {
    const nats = await connection();
    if (!hasOwnAccount) return nats;
    opening ??= connectNats({ natsUrl, natsAccountSeed: natsRunnerAccountSeed }, { waitForServer: false }).catch((error) => {
      opening = null;
      throw error;
    });
    return opening;
  };

  return {
    connectionsOf: (publicKeys: readonly string[]): Promise<RunnerConnection[]> =>
      orUnavailable(
        (async () => {
          if (publicKeys.length === 0) return [];
          const nats = await runnersConnection();
          return (await inBatches(publicKeys, KEYS_AT_ONCE, (publicKey) => connectionsOfUser(nats, publicKey))).flat();
        })(),
      ),
    queueOf: (tenant: string, agent: string): Promise<AgentQueue> =>
      orUnavailable((async () => readQueue(await connection(), tenant, agent))()),
    close: async (): Promise<void> => (await opening?.catch(() => null))?.close(),
  } satisfies RunnerBroker & { close: () => Promise<void> };
};
