import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import pino from 'pino';
import { agentOperations } from '../api/agent.ts';
import { apikeyOperations } from '../api/apikey.ts';
import { deliveryOperationsOf, mountDeliveryBodies } from '../api/delivery.ts';
import { mountHooks } from '../api/hooks.ts';
import { integrationOperations } from '../api/integration.ts';
import { bootstrap } from '../infra/bootstrap.ts';
import type { Log } from '../infra/eventstore/log.ts';
import { hookPorts } from '../infra/hooks/ports.ts';
import { readDelivery } from '../infra/hooks/stored.ts';
import type { Limiter } from '../infra/http/limits.ts';
import { hotOf, platform } from '../infra/platform.ts';
import { openVault } from '../infra/vault/vault.ts';
import { agents } from '../projections/agent.ts';
import { deliveries } from '../projections/delivery.ts';
import { integrations } from '../projections/integration.ts';
import { memorySink } from '../projections/memory.ts';
import type { AnyProjection } from '../projections/projection.ts';
import { memoryLog } from './memory-log.ts';
import { scratch } from './temp.ts';

export const SECRET = 'a secret of more than 24 bytes';
export const sign = (body: string | Uint8Array, secret = SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

type Json = Record<string, unknown>;
export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string; readonly json: Json };

/** One process of the platform over a log, as far as hooks need it; `masterKeyFile` is shared by those that share the log. */
export const processOver = async <L extends Log>(log: L, masterKeyFile: string, limits?: Limiter) => {
  const vault = await openVault({ log, masterKeyFile });
  const hot = hotOf(log);
  await hot.start();
  const sink = memorySink([agents, integrations, deliveries] as unknown as readonly AnyProjection[]);
  const following = log.follow({ event: (event) => sink.feed([event]) });
  const clock = { now: () => Date.now() };
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const ports = hookPorts({ log, vault, hot, logger, limits, now: () => new Date(clock.now()).toISOString() });
  const address = () => '192.0.2.7';
  const stored = readDelivery(log);
  const { app, systemContext } = platform({
    log,
    hot,
    vault,
    reads: sink.reads,
    logger,
    publicUrl: 'https://annals.test',
    operations: { ...agentOperations, ...apikeyOperations, ...integrationOperations, ...deliveryOperationsOf(stored) },
    plain: (hono, host) => {
      mountHooks(hono, { ports, address });
      mountDeliveryBodies(hono, host, stored);
    },
    address,
    now: () => clock.now(),
  });

  const request = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await app.request(path, init);
    const said = await response.text();
    return { status: response.status, headers: response.headers, text: said, json: said.startsWith('{') ? (JSON.parse(said) as Json) : {} };
  };

  const post = (id: string, body: string | Uint8Array = '{"zen":"Keep it simple"}', headers: Record<string, string | null> = {}) => {
    const sent = new Headers({
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/test',
      'x-github-event': 'push',
      'x-github-delivery': 'd-1',
      'x-hub-signature-256': sign(body),
    });
    for (const [name, value] of Object.entries(headers)) value === null ? sent.delete(name) : sent.set(name, value);
    return request(`/hooks/inbound/${id}`, { method: 'POST', headers: sent, body: body as never });
  };

  const close = async (): Promise<void> => {
    await ports.close();
    await hot.close();
    await following.stop();
  };

  return { app, log, vault, hot, sink, following, clock, lines, ports, systemContext, request, post, close };
};

/** The platform with one agent and one GitHub integration over a log; `deliver` posts to its hook as GitHub would. */
export const givenHookOver = async <L extends Log>(log: L, settings: Json = {}, limits?: Limiter) => {
  const { dir } = scratch();
  const masterKeyFile = join(dir, 'master.key');
  const process = await processOver(log, masterKeyFile, limits);
  const { request, post, following } = process;
  let first = { key: '', tenant_id: '' };
  await bootstrap(log, process.systemContext(), undefined, (shown) => {
    first = shown;
  });
  const tenant = `/tenant/${first.tenant_id}`;

  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    request(path.startsWith('/') ? path : `${tenant}/${path}`, {
      method,
      headers: { authorization: `Bearer ${first.key}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  /** Waits until the views have what the log has now. */
  const settled = async (): Promise<void> => {
    const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
    while (following.position()?.commit !== last!.position.commit) await new Promise((resolve) => setTimeout(resolve, 1));
  };

  const agent = (await call('POST', 'agents', { name: 'Reviewer', slug: 'reviewer' })).json.id as string;
  const connect = (more: Json = {}) =>
    call('POST', 'webhook-integrations', { provider: 'github', agent_id: agent, label: 'Code', secret: SECRET, ...settings, ...more });
  const connected = await connect();
  const hook = connected.json.id as string;

  return {
    ...process,
    ...first,
    tenant,
    call,
    settled,
    agent,
    connect,
    connected,
    hook,
    deliver: (body?: string | Uint8Array, headers?: Record<string, string | null>, id = hook) => post(id, body, headers),
    /** Another process over the same log, through a connection of its own. */
    beside: (connection: Log, besideLimits?: Limiter) => processOver(connection, masterKeyFile, besideLimits),
  };
};

/** The same in memory, where every event can be looked at. */
export const givenHook = async (settings: Json = {}, limits?: Limiter) => {
  const given = await givenHookOver(memoryLog(), settings, limits);
  const ofType = (...types: string[]) => given.log.events.filter(({ type }) => types.includes(type));
  return { ...given, ofType, accepted: () => ofType('WebhookAccepted') };
};
