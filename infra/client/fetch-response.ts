export type Outgoing = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData | undefined;
};

export type FetchOptions = {
  readonly fetch: typeof globalThis.fetch;
  /** How long an attempt may take. If the caller reads the body, the time ends when the headers have arrived. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether the body is read here, so that a connection that breaks meanwhile counts as a failure of the attempt. */
  readonly readsBody: boolean;
};

const isEmpty = ({ status }: Response): boolean => status === 204 || status === 205 || status === 304;

const withBody = async (response: Response): Promise<Response> => {
  const { status, statusText, headers } = response;
  return new Response(isEmpty(response) ? null : await response.arrayBuffer(), { status, statusText, headers });
};

/**
 * Sends a request once. Does not follow redirects, so that the API key never reaches another host.
 * @throws Error of one line if nothing answers in time; `cause` is the reason
 */
export const fetchResponse = async ({ url, ...request }: Outgoing, options: FetchOptions): Promise<Response> => {
  const timer = new AbortController();
  const timeout = setTimeout(() => timer.abort(new Error(`no answer within ${options.timeoutMs} ms`)), options.timeoutMs);
  const signal = options.signal ? AbortSignal.any([timer.signal, options.signal]) : timer.signal;
  try {
    const response = await options.fetch(url, { ...request, body: request.body ?? null, redirect: 'manual', signal });
    return options.readsBody || response.status >= 400 ? await withBody(response) : response;
  } catch (error) {
    options.signal?.throwIfAborted();
    const { message, cause } = error as Error & { cause?: { code?: string } };
    throw new Error(`${new URL(url).origin} does not answer: ${cause?.code ?? message}`, { cause: error });
  } finally {
    clearTimeout(timeout);
  }
};
