import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NatsConnection } from 'nats';
import { consumerName } from '../domain/runner-credential.ts';
import { brokerUsers } from '../infra/nats/credentials.ts';
import { type ConsumerLimits, ensureConsumer, ensureInbound, STREAM } from '../infra/nats/stream.ts';
import type { Broker } from './broker.ts';
import { agentOf, TENANT } from './generated-log.ts';

export const KEY = 'the key';
const AGENT = agentOf(0);

/** The part of the service that a runner asks, with the real broker behind it. Its credentials live for `seconds`. */
export const runnerService = async (
  broker: Broker,
  nats: NatsConnection,
  { seconds = 3_600, ...limits }: ConsumerLimits & { seconds?: number } = {},
) => {
  await ensureInbound(nats);
  await ensureConsumer(nats, TENANT, AGENT, limits);
  const users = brokerUsers(nats, broker.address);
  const bodies = new Map<string, Uint8Array>();
  let issued = 0;

  const credential = async () => {
    const id = `c${String(++issued).padStart(24, '0')}`;
    const expires_at = new Date(Date.now() + seconds * 1_000).toISOString();
    const user = await users({ tenant: TENANT, agent: AGENT, credential: id, expires_at });
    return { id, ...user, subject: '', stream: STREAM, consumer: consumerName(AGENT), expires_at };
  };

  const answer = async (method: string, path: string): Promise<[number, unknown]> => {
    if (path === '/me') return [200, { agent: { id: AGENT, slug: 'triage' }, tenants: [{ id: TENANT }] }];
    if (path === `/tenant/${TENANT}/agents/${AGENT}/runner-credentials` && method === 'POST') return [201, await credential()];
    const body = bodies.get(/\/deliveries\/([a-z0-9]+)\/body$/.exec(path)?.[1] ?? '');
    return body ? [200, body] : [404, { detail: 'there is nothing here for you' }];
  };

  const server = createServer((request, response) => {
    const refused = request.headers.authorization !== `Bearer ${KEY}`;
    const work = refused
      ? Promise.resolve<[number, unknown]>([401, { detail: 'the key is not valid' }])
      : answer(request.method!, request.url!);
    work.then(
      ([status, body]) => response.writeHead(status).end(body instanceof Uint8Array ? body : JSON.stringify(body)),
      (error: Error) => response.writeHead(503).end(JSON.stringify({ detail: error.message })),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    issued: () => issued,
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
