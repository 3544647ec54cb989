import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Refusal, type RefusalCode } from '../../domain/refusal.ts';

const ANSWER_MS = 15_000;
const MIN_RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 10_000;

const Named = z.object({ id: z.string(), slug: z.string() });
const Me = z.object({ agent: Named.nullish(), tenants: z.array(z.object({ id: z.string() })) });

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

/** The agent that a runner works for. */
export type Place = { readonly tenant: string; readonly agent: string; readonly slug: string };

const codes: Readonly<Record<number, RefusalCode>> = { 401: 'unauthorized', 403: 'forbidden', 404: 'not_found', 409: 'not_configured' };

const refusalOf = async (response: Response): Promise<Refusal> => {
  const problem = (await response.json().catch(() => ({}))) as { detail?: string };
  const says = problem.detail ?? `the service answers ${response.status}`;
  return new Refusal(codes[response.status] ?? 'unavailable', response.status === 401 ? `ANNALS_KEY is refused: ${says}` : says);
};

/** What a runner asks of the service, with its key. @throws Refusal: unavailable is worth another try, all else is not */
export const apiClient = ({ url, key }: { url: string; key: string }) => {
  const base = url.replace(/\/+$/, '');

  const ask = async (method: string, path: string): Promise<Response> => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(base + path, { method, headers, redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) }).catch(
      (error) => {
        throw new Refusal('unavailable', `${base} does not answer${error.cause?.code ? `: ${error.cause.code}` : ''}`);
      },
    );
    if (!response.ok) throw await refusalOf(response);
    return response;
  };

  const json = async <T>(schema: z.ZodType<T>, method: string, path: string): Promise<T> => {
    const { data } = schema.safeParse(await (await ask(method, path)).json().catch(() => null));
    if (data === undefined) throw new Refusal('not_found', `${base} is not an Annals service: ${path} answers something else`);
    return data;
  };

  /** Every service has it, so that another's answer, or a path too many in the address, is known by it. */
  const elsewhere = (error: Refusal): never => {
    throw error.code === 'not_found' ? new Refusal('not_found', `there is no Annals service at ${base}: correct ANNALS_URL`) : error;
  };

  const find = async (agent: string): Promise<Place> => {
    const me = await json(Me, 'GET', '/me').catch(elsewhere);
    const tenant = me.tenants[0]?.id;
    if (!tenant) throw new Refusal('forbidden', 'ANNALS_KEY is bound to no tenant; a runner key of the agent is what a runner uses');
    const known = me.agent
      ? [me.agent]
      : await json(z.array(Named), 'GET', `/tenant/${tenant}/agents?q=${encodeURIComponent(agent)}&limit=200`);
    const found = known.find(({ id, slug }) => slug === agent || id === agent);
    if (found) return { tenant, agent: found.id, slug: found.slug };
    throw new Refusal(
      'not_found',
      me.agent ? `ANNALS_KEY belongs to the agent ${me.agent.slug}, not to ${agent}` : `there is no agent ${agent}`,
    );
  };

  return {
    find,
    credential: ({ tenant, agent }: Place): Promise<Credential> =>
      json(Credential, 'POST', `/tenant/${tenant}/agents/${agent}/runner-credentials`),
    /** A body that was too large for its message. Only the path is taken from the address: the key goes nowhere else. */
    body: async (reference: string): Promise<Uint8Array> => {
      const path = /\/tenant\/[a-z0-9]+\/deliveries\/[a-z0-9]+\/body$/.exec(reference)?.[0];
      if (!path) throw new Refusal('malformed', 'the body lies at an address that is none of the service');
      return (await ask('GET', path)).bytes();
    },
  };
};

export type Service = ReturnType<typeof apiClient>;

export const isPassing = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable';

/** Tries until it is done, with longer and longer pauses; what is no passing trouble is thrown. */
export const retryTransient = async <T>(work: () => Promise<T>, say: (line: string) => void, signal: AbortSignal): Promise<T> => {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error;
      if (tries % 10 === 0) say(`${(error as Error).message}; trying again`);
      await sleep(Math.min(MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS * 2 ** tries) * (0.75 + Math.random() / 2), undefined, { signal }).catch(
        () => {},
      );
    }
  }
};
