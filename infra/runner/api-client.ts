import { z } from 'zod';
import { type FieldError, isUnavailable, problemLines, Refusal, type RefusalCode } from '../../domain/refusal.ts';
import { createBackoff } from '../backoff.ts';
import { BudgetExceeded } from './budget-refusal.ts';
import type { OutageReport } from './outage-report.ts';
import type { Runtime } from './runtime-files.ts';
import { LastMessages, type SentInSession, sentInSession } from './sent-in-session.ts';

const RESPONSE_TIMEOUT_MS = 15_000;
const TRANSFER_TIMEOUT_MS = 120_000;
const FILE_TIMEOUT_MS = 3_600_000;
const RETRY_DELAY = { minMs: 250, maxMs: 10_000, jitter: 0.25 };

/** The error codes of a connection that the other side has closed. */
const CLOSED_CONNECTION: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

const JSON_BODY = { 'content-type': 'application/json' };

const AgentName = z.object({ id: z.string(), slug: z.string() });
const BudgetState = z.object({
  hour: z.string(),
  limit_usd: z.number().nullable(),
  left_usd: z.number().nullable(),
  refused: z.number(),
  refused_sessions: z.number(),
});
const Me = z.object({ agent: AgentName.nullish(), tenants: z.array(z.object({ id: z.string() })) });

const SettledMessages = z.array(z.object({ event_id: z.string() }));

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

export type RunnerAgent = {
  readonly tenant: string;
  readonly agent: string;
  readonly slug: string;
  /** Whether the key is a runner key of this agent. Only such a key may read the agent's runtime. */
  readonly hasRunnerKey: boolean;
};

/** `resets_at` is when a used-up limit is renewed. The amounts are those of a budget. */
type Problem = {
  readonly code?: RefusalCode;
  readonly detail?: string;
  readonly errors?: FieldError[];
  readonly resets_at?: string;
  readonly limit_usd?: number;
  readonly left_usd?: number;
};

const codes: Readonly<Record<number, RefusalCode>> = { 401: 'unauthorized', 403: 'forbidden', 404: 'not_found', 409: 'not_configured' };

/** Whether the same request can succeed soon. The caller handles limits that are used up until `resets_at`, such as those of a day. */
const isTemporary = ({ status }: Response, { code, resets_at }: Problem): boolean =>
  status >= 500 || (status === 429 && resets_at === undefined) || status === 408 || code === 'idempotency_in_flight';

const codeOf = (response: Response, problem: Problem): RefusalCode =>
  isTemporary(response, problem)
    ? 'unavailable'
    : (response.status === 409 && problem.code) || codes[response.status] || problem.code || 'unavailable';

const refusalOf = async (response: Response): Promise<Refusal> => {
  const problem = (await response.json().catch(() => ({}))) as Problem;
  const { errors = [], resets_at, limit_usd, left_usd } = problem;
  const detail = problem.detail ?? `the service answers ${response.status}`;
  const told = response.status === 422 ? problemLines(detail, errors).join('; ') : detail;
  if (problem.code === 'budget_exceeded' && resets_at !== undefined)
    return new BudgetExceeded(detail, resets_at, {
      ...(limit_usd !== undefined && { limit_usd }),
      ...(left_usd !== undefined && { left_usd }),
    });
  return new Refusal(codeOf(response, problem), response.status === 401 ? `ANNALS_KEY is refused: ${detail}` : told, {
    errors,
    ...(resets_at !== undefined && { members: { resets_at } }),
  });
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

type Content = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
  readonly timeoutMs?: number;
};

/** `body` is a form, or an object that is sent as JSON. */
type Post = { readonly body: FormData | object; readonly idempotencyKey: string };

const errorCodeOf = (error: Error): unknown => (error.cause as { code?: unknown } | undefined)?.code;

/** A service may close an idle connection while it is used again: a repeatable request is then sent once more. */
const fetchAgain = (url: string, init: RequestInit, isRepeatable: boolean): Promise<Response> =>
  fetch(url, init).catch((error: Error) => {
    if (isRepeatable && CLOSED_CONNECTION.has(errorCodeOf(error))) return fetch(url, init);
    throw error;
  });

/**
 * Sends the runner's API key. `outage` is called when the service becomes unavailable or available again.
 * @throws Refusal from all methods; a retry can succeed only after the code `unavailable`
 */
export const apiClient = ({ url, key, outage }: { url: string; key: string; outage: OutageReport }) => {
  const base = url.replace(/\/+$/, '');

  const send = async (method: string, path: string, { headers, body, timeoutMs = RESPONSE_TIMEOUT_MS }: Content): Promise<Response> => {
    const init: RequestInit = {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: body ?? null,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    };
    const isRepeatable = method === 'GET' || headers?.['idempotency-key'] !== undefined;
    const response = await fetchAgain(base + path, init, isRepeatable).catch((error: Error) => {
      const code = errorCodeOf(error);
      throw new Refusal('unavailable', `${base} does not answer${code ? `: ${code}` : ''}`);
    });
    if (!response.ok && response.status !== 304) throw await refusalOf(response);
    return response;
  };
  /** A connection that breaks in the middle of the response is an outage of the service, too. */
  const request = <T>(method: string, path: string, read: (response: Response) => Promise<T>, content: Content = {}): Promise<T> =>
    outage.watch(async () => {
      const response = await send(method, path, content);
      return read(response).catch(() => {
        throw new Refusal('unavailable', `the connection to ${base} broke`);
      });
    });

  const json = async <T>(schema: z.ZodType<T>, method: string, path: string, content?: Content): Promise<T> => {
    const { data } = schema.safeParse(parseJson(await request(method, path, (response) => response.text(), content)));
    if (data === undefined)
      throw new Refusal('not_found', `${base} is not an Annals service: the answer to ${path} is not of the expected form`);
    return data;
  };

  /**
   * Every Annals service has /me: if it is not found, ANNALS_URL belongs to another service or has a wrong path.
   * @throws any other refusal unchanged
   */
  const wrongAddress = (error: Refusal): never => {
    throw error.code === 'not_found' ? new Refusal('not_found', `there is no Annals service at ${base}: correct ANNALS_URL`) : error;
  };

  const find = async (name: string | undefined): Promise<RunnerAgent> => {
    const me = await json(Me, 'GET', '/me').catch(wrongAddress);
    const agent = name ?? me.agent?.slug;
    if (agent === undefined) throw new Refusal('forbidden', 'ANNALS_KEY is not a runner key: use one, or name the agent');
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
    /** Finds the agent by slug or id or, without these, by the runner key. @throws Refusal */
    find,
    /** @throws Refusal forbidden if the key has no tenant */
    tenant: async (): Promise<string> => {
      const [first] = (await json(Me, 'GET', '/me').catch(wrongAddress)).tenants;
      if (!first) throw new Refusal('forbidden', 'ANNALS_KEY belongs to no tenant: name one with --tenant');
      return first.id;
    },
    get: <T>(schema: z.ZodType<T>, path: string): Promise<T> => json(schema, 'GET', path),
    /** Returns one page of a list as text, and the path of the next page. @throws Refusal */
    page: (path: string): Promise<{ readonly text: string; readonly next: string | null }> => {
      const read = async (response: Response) => ({
        text: await response.text(),
        next: /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null,
      });
      return request('GET', path, read, { timeoutMs: TRANSFER_TIMEOUT_MS });
    },
    /** Yields bytes as they arrive. @throws Refusal, also during the iteration */
    async *file(path: string): AsyncGenerator<Uint8Array> {
      const { body } = await outage.watch(() => send('GET', path, { timeoutMs: FILE_TIMEOUT_MS }));
      const reader = body!.getReader();
      const next = () =>
        reader.read().catch(() => {
          throw new Refusal('unavailable', `the connection to ${base} broke`);
        });
      for (let read = await next(); !read.done; read = await next()) yield read.value;
    },
    /** A repeat with the same Idempotency-Key has no second effect. @throws Refusal */
    post: <T>(schema: z.ZodType<T>, path: string, { body, idempotencyKey }: Post): Promise<T> =>
      json(schema, 'POST', path, {
        headers: {
          'idempotency-key': idempotencyKey,
          ...(body instanceof FormData ? {} : JSON_BODY),
        },
        body: body instanceof FormData ? body : JSON.stringify(body),
        ...(body instanceof FormData && { timeoutMs: TRANSFER_TIMEOUT_MS }),
      }),
    credential: ({ tenant, agent }: RunnerAgent): Promise<Credential> =>
      json(Credential, 'POST', `/tenant/${tenant}/agents/${agent}/runner-credentials`),
    /** `since` is an earlier hour by the clock of the service: the later it is, the less the service has to read. @throws Refusal */
    budget: async ({ tenant, agent }: RunnerAgent, since: string | undefined): Promise<z.output<typeof BudgetState> | null> => {
      const query = since === undefined ? '' : `?from=${since}`;
      return (await json(z.array(BudgetState), 'GET', `/tenant/${tenant}/agents/${agent}/budget/usage${query}`)).at(-1) ?? null;
    },
    /** Shows what the agent is writing in a session. Does not report that the service is unavailable. @throws Refusal */
    draft: async (path: string, content: string): Promise<void> =>
      void (await send('PUT', path, { headers: JSON_BODY, body: JSON.stringify({ content }) })),
    /** Reports why an attempt of a delivery failed. A repeat of the same report has no effect. @throws Refusal */
    reportAttempt: ({ tenant }: RunnerAgent, delivery_id: string, body: object): Promise<void> =>
      request('POST', `/tenant/${tenant}/deliveries/${delivery_id}/attempts`, async () => {}, {
        headers: JSON_BODY,
        body: JSON.stringify(body),
      }),
    /** Returns the settled ones of these messages. @throws Refusal */
    settledMessages: async ({ tenant, agent }: RunnerAgent, ids: readonly string[]): Promise<string[]> => {
      const path = `/tenant/${tenant}/agents/${agent}/settled-messages?event_ids=${ids.join(',')}`;
      return (await json(SettledMessages, 'GET', path)).map(({ event_id }) => event_id);
    },
    /** Returns what persons have done in a session, from its last `limit` messages. @throws Refusal */
    sentInSession: async (agent: RunnerAgent, session: string, limit: number): Promise<SentInSession> => {
      const path = `/tenant/${agent.tenant}/sessions/${session}?order=newest&limit=${limit}`;
      return sentInSession(agent, session, await json(LastMessages, 'GET', path));
    },
    /** Returns `known` if the runtime is unchanged. */
    runtime: ({ tenant, agent }: RunnerAgent, known: Runtime | null): Promise<Runtime> => {
      const read = async (response: Response): Promise<Runtime> =>
        response.status === 304 && known ? known : { body: await response.text(), etag: response.headers.get('etag') ?? '' };
      const headers: Record<string, string> = known ? { 'if-none-match': known.etag } : {};
      return request('GET', `/tenant/${tenant}/agents/${agent}/runtime`, read, { headers });
    },
    /** Fetches a body too large for its message. Uses only the path of the reference, so that the API key never reaches another host. */
    body: async (reference: string): Promise<Uint8Array> => {
      const path = /\/tenant\/[a-z0-9]+\/deliveries\/[a-z0-9]+\/body$/.exec(reference)?.[0];
      if (!path) throw new Refusal('malformed', 'the address of the body is not one of the service');
      return request('GET', path, (response) => response.bytes());
    },
  };
};

export type RunnerApi = ReturnType<typeof apiClient>;

/**
 * Runs `work`, and retries it with growing delays while a service is unavailable.
 * @throws any other error at once, and every error after `signal` has been aborted
 */
export const retryTransient = async <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  for (const backoff = createBackoff(RETRY_DELAY); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error) || signal.aborted) throw error;
      await backoff.wait(signal);
    }
  }
};
