import { z } from 'zod';
import { Refusal, type RefusalCode } from '../../domain/refusal.ts';
import { createBackoff } from '../backoff.ts';
import { isTransient, type OutageReport } from './outage-report.ts';
import type { Runtime } from './runtime-files.ts';

const RESPONSE_TIMEOUT_MS = 15_000;
const RETRY_DELAY = { minMs: 250, maxMs: 10_000, jitter: 0.25 };

const AgentName = z.object({ id: z.string(), slug: z.string() });
const Me = z.object({ agent: AgentName.nullish(), tenants: z.array(z.object({ id: z.string() })) });

export const Credential = z.object({
  id: z.string(),
  url: z.string(),
  jwt: z.string(),
  seed: z.string(),
  stream: z.string(),
  consumer: z.string(),
  expires_at: z.string(),
});
export type Credential = z.output<typeof Credential>;

/** The agent whose deliveries a runner processes. */
export type RunnerAgent = {
  readonly tenant: string;
  readonly agent: string;
  readonly slug: string;
  /** Whether the key is a runner key of this agent. Only such a key may read the agent's runtime. */
  readonly hasRunnerKey: boolean;
};

const codes: Readonly<Record<number, RefusalCode>> = { 401: 'unauthorized', 403: 'forbidden', 404: 'not_found', 409: 'not_configured' };

const refusalOf = async (response: Response): Promise<Refusal> => {
  const problem = (await response.json().catch(() => ({}))) as { detail?: string };
  const detail = problem.detail ?? `the service answers ${response.status}`;
  return new Refusal(codes[response.status] ?? 'unavailable', response.status === 401 ? `ANNALS_KEY is refused: ${detail}` : detail);
};

/**
 * Creates the client that sends a runner's requests to the HTTP service, with the runner's API key. `outage` reports
 * when the service is lost and regained. The methods throw a Refusal. Only after the code `unavailable` can a retry
 * succeed.
 */
export const apiClient = ({ url, key, outage }: { url: string; key: string; outage: OutageReport }) => {
  const base = url.replace(/\/+$/, '');

  const send = async (method: string, path: string, more: Record<string, string>): Promise<Response> => {
    const headers = { authorization: `Bearer ${key}`, ...more };
    const response = await fetch(base + path, {
      method,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
    }).catch((error) => {
      throw new Refusal('unavailable', `${base} does not answer${error.cause?.code ? `: ${error.cause.code}` : ''}`);
    });
    if (!response.ok && response.status !== 304) throw await refusalOf(response);
    return response;
  };
  const request = (method: string, path: string, headers = {}): Promise<Response> => outage.watch(() => send(method, path, headers));

  const json = async <T>(schema: z.ZodType<T>, method: string, path: string): Promise<T> => {
    const { data } = schema.safeParse(await (await request(method, path)).json().catch(() => null));
    if (data === undefined)
      throw new Refusal('not_found', `${base} is not an Annals service: the answer to ${path} is not of the expected form`);
    return data;
  };

  /**
   * Turns the refusal `not_found` of /me into a message about ANNALS_URL. Every Annals service has /me. If it is not
   * found, the URL belongs to another service or has a wrong path.
   */
  const wrongAddress = (error: Refusal): never => {
    throw error.code === 'not_found' ? new Refusal('not_found', `there is no Annals service at ${base}: correct ANNALS_URL`) : error;
  };

  const find = async (agent: string): Promise<RunnerAgent> => {
    const me = await json(Me, 'GET', '/me').catch(wrongAddress);
    const tenant = me.tenants[0]?.id;
    if (!tenant) throw new Refusal('forbidden', 'ANNALS_KEY belongs to no tenant: use a runner key of the agent');
    const agents = me.agent
      ? [me.agent]
      : await json(z.array(AgentName), 'GET', `/tenant/${tenant}/agents?q=${encodeURIComponent(agent)}&limit=200`);
    const found = agents.find(({ id, slug }) => slug === agent || id === agent);
    if (found) return { tenant, agent: found.id, slug: found.slug, hasRunnerKey: me.agent != null };
    throw new Refusal(
      'not_found',
      me.agent ? `ANNALS_KEY belongs to the agent ${me.agent.slug}, not to ${agent}` : `there is no agent ${agent}`,
    );
  };

  return {
    find,
    credential: ({ tenant, agent }: RunnerAgent): Promise<Credential> =>
      json(Credential, 'POST', `/tenant/${tenant}/agents/${agent}/runner-credentials`),
    /** Fetches the runtime of the agent; returns `known` if it has not changed since. */
    runtime: async ({ tenant, agent }: RunnerAgent, known: Runtime | null): Promise<Runtime> => {
      const path = `/tenant/${tenant}/agents/${agent}/runtime`;
      const response = await request('GET', path, known ? { 'if-none-match': known.etag } : {});
      if (response.status === 304 && known) return known;
      return { body: await response.text(), etag: response.headers.get('etag') ?? '' };
    },
    /**
     * Fetches a body that was too large for its message. It uses only the path of the URL in the message, so that the
     * API key is never sent to another host.
     */
    body: async (reference: string): Promise<Uint8Array> => {
      const path = /\/tenant\/[a-z0-9]+\/deliveries\/[a-z0-9]+\/body$/.exec(reference)?.[0];
      if (!path) throw new Refusal('malformed', 'the address of the body is not one of the service');
      return (await request('GET', path)).bytes();
    },
  };
};

/**
 * Retries work with growing delays while a service is unavailable.
 * @throws any other error at once, and every error after `signal` has been aborted
 */
export const retryTransient = async <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  for (const backoff = createBackoff(RETRY_DELAY); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || signal.aborted) throw error;
      await backoff.wait(signal);
    }
  }
};
