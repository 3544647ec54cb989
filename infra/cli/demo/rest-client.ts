import { setTimeout as sleep } from 'node:timers/promises';

/** Returns the last result. */
export const eventually = async <T>(look: () => T | Promise<T>, isDone: (found: T) => boolean, timeoutMs: number): Promise<T> => {
  for (const deadline = Date.now() + timeoutMs; ; await sleep(50)) {
    const found = await look();
    if (isDone(found) || Date.now() > deadline) return found;
  }
};

const REQUEST_TIMEOUT_MS = 30_000;
const UNAVAILABLE = 503;

/**
 * Creates a client of the REST API that uses one API key. It repeats a request while the service answers 503.
 * @throws Error with a one-line message for the operator for any other error response
 */
export const client = (url: string, key: string) => {
  const call = async (method: string, path: string, body?: object): Promise<Response> => {
    const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) };
    const send = () => fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const response = await eventually(send, ({ status }) => status !== UNAVAILABLE, REQUEST_TIMEOUT_MS);
    if (response.ok) return response;
    throw new Error(`${method} ${path} answers ${response.status}: ${(await response.text()).slice(0, 300)}`);
  };
  return {
    post: async <T>(path: string, body: object): Promise<T> => (await (await call('POST', path, body)).json()) as T,
    remove: async (path: string): Promise<void> => void (await call('DELETE', path)),
    get: async <T>(path: string): Promise<T> => (await (await call('GET', path)).json()) as T,
    all: async <T>(path: string): Promise<T[]> => {
      const items: T[] = [];
      for (let next: string | undefined = path; next; ) {
        const page: Response = await call('GET', next);
        items.push(...((await page.json()) as T[]));
        next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
      }
      return items;
    },
  };
};

export type Client = ReturnType<typeof client>;
