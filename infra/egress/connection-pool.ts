import type { Agent, buildConnector, Dispatcher } from 'undici';
import type { EgressRules } from './egress-rules.ts';
import { guardedConnector, type ResolveHost } from './guarded-connector.ts';
import type { Attempt } from './redirect.ts';
import { connectionFailure } from './transport-failure.ts';

const CONNECT_TIMEOUT_MS = 4_000;
const IDLE_TIMEOUT_MS = 8_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS_PER_HOST = 8;

export type PoolOptions = {
  readonly connectTimeoutMs?: number;
  /** How long a host may send nothing, in milliseconds. */
  readonly idleTimeoutMs?: number;
  /** Resolves host names; by DNS if absent. */
  readonly resolve?: ResolveHost;
  /** The function that creates connectors; undici's `buildConnector` if absent. */
  readonly build?: typeof buildConnector;
};

export type ConnectionPool = {
  /** Waits for the headers of the answer. Follows no redirect. @throws EgressError */
  readonly send: (attempt: Attempt) => Promise<Dispatcher.ResponseData>;
  readonly close: () => Promise<void>;
};

type Opened = { readonly agent: Agent; readonly request: typeof import('undici').request };

export const createConnectionPool = (rules: EgressRules, options: PoolOptions): ConnectionPool => {
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS, idleTimeoutMs = IDLE_TIMEOUT_MS, resolve } = options;
  let opened: Promise<Opened> | undefined;

  // undici takes 50 MB and 0.1 s to load; most processes never need it, and start faster without it.
  const open = async (): Promise<Opened> => {
    const { Agent, buildConnector, request } = await import('undici');
    const agent = new Agent({
      connect: guardedConnector({ rules, connectTimeoutMs, resolve, build: options.build ?? buildConnector }),
      connections: MAX_CONNECTIONS_PER_HOST,
      headersTimeout: idleTimeoutMs,
      bodyTimeout: idleTimeoutMs,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    return { agent, request };
  };

  return {
    send: async ({ url, request: { method = 'GET', headers, body = null }, signal }) => {
      opened ??= open();
      const { agent, request } = await opened;
      const all = { ...headers, 'accept-encoding': 'identity' };
      return request(url, { dispatcher: agent, method, headers: all, body, signal }).catch((error: unknown) => {
        throw connectionFailure(error, url.hostname);
      });
    },
    close: async () => (await opened)?.agent.destroy(),
  };
};
