import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git';
import { EgressError } from '../egress/egress-error.ts';
import type { EgressResponse, GuardedClient } from '../egress/guarded-client.ts';
import { readPktLines } from './pkt-lines.ts';

/** The repository does not exist, or may not be read. The message is for users. */
export class NoRepositoryError extends Error {}

const MAX_BYTES = 4 * 1024 * 1024;
/** The maximum number of lines of a list from a host that uses version 1 of the protocol, and so cannot filter it. */
const MAX_ADVERTISED = 50_000;
const ADVERTISEMENT = 'application/x-git-upload-pack-advertisement';
const RESULT = 'application/x-git-upload-pack-result';
const NO_ACCESS = [401, 403, 404, 410];
/** Some hosts accept git requests only from clients whose name looks like that of git. */
const USER_AGENT = 'git/2.0 (annals)';

type Sent = {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
};

const hostOf = (url: string): string => new URL(url).hostname;

const collect = async (body: GitHttpRequest['body']): Promise<Uint8Array | undefined> =>
  body && Buffer.concat(await Array.fromAsync(body as AsyncIterable<Uint8Array>));

async function* single(bytes: Uint8Array): AsyncIterableIterator<Uint8Array> {
  yield bytes;
}

/** @throws EgressError or NoRepositoryError if it is not a valid answer to git */
const checkAnswer = ({ status, headers, url }: Pick<EgressResponse, 'status' | 'headers' | 'url'>, type: string): void => {
  const host = hostOf(url);
  if (NO_ACCESS.includes(status))
    throw new NoRepositoryError(`${host} answers ${status}: the repository does not exist, or the platform may not read it`);
  if (status >= 500 || status === 429) throw new EgressError('unreachable', `${host} answers ${status}`);
  if (status === 200 && type === ADVERTISEMENT && headers['content-type'] !== type)
    throw new NoRepositoryError(`${host} answers, but there is no git repository at this URL`);
  if (status !== 200 || headers['content-type'] !== type)
    throw new EgressError('bad_response', `${host} does not answer as a git server does`);
};

/** Returns the headers without the token. Used for the host to which a redirect leads. */
const withoutToken = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));

export type ListingOptions = {
  readonly client: GuardedClient;
  readonly url: string;
  readonly maxLines: number;
  /** The maximum total time of all requests for the list, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether there is a token for the host. The token is sent only if the host requests it. */
  readonly hasToken: boolean;
};

export type Listing = { readonly http: HttpClient; readonly hasMore: () => boolean };

/**
 * Creates the HTTP client with which isomorphic-git reads one list of refs of the repository at `url`. It reads at most
 * `maxLines` lines of the list. If the host redirects the first request, the next requests go to the new location, as
 * git does.
 */
export const openListing = ({ client, url, maxLines, timeoutMs, hasToken }: ListingOptions): Listing => {
  const signal = AbortSignal.timeout(timeoutMs);
  let hasMore = false;
  let base = url;

  const moved = ({ url: wanted, method = 'GET', headers = {} }: GitHttpRequest, body: Uint8Array | undefined): Sent => {
    const isForeign = new URL(base).origin !== new URL(url).origin;
    const sent = { ...(isForeign ? withoutToken(headers) : headers), 'user-agent': USER_AGENT };
    return { url: base + wanted.slice(url.length), method, headers: sent, ...(body && { body }) };
  };

  const request = async (wanted: GitHttpRequest): Promise<GitHttpResponse> => {
    const sent = moved(wanted, await collect(wanted.body));
    const isPost = sent.method === 'POST';
    const response = await client.request({
      ...sent,
      method: isPost ? 'POST' : 'GET',
      maxBytes: MAX_BYTES,
      totalMs: timeoutMs,
      signal,
    });
    const { status: statusCode, headers, body } = response;
    const answer = { url: response.url, method: sent.method, headers: headers as Record<string, string>, statusCode, statusMessage: '' };
    const asksForToken = hasToken && statusCode === 401 && !('Authorization' in wanted.headers!);
    try {
      if (asksForToken) return { ...answer, body: single(new Uint8Array()) };
      checkAnswer(response, isPost ? RESULT : ADVERTISEMENT);
      const lines = await readPktLines(body, isPost ? maxLines : MAX_ADVERTISED);
      hasMore ||= lines.hasMore;
      if (!lines.isComplete && !lines.hasMore) throw new EgressError('bad_response', `The list of refs from ${hostOf(url)} is cut off`);
      if (!isPost) base = response.url.replace(/\/info\/refs\?.*$/, '');
      return { ...answer, body: single(lines.bytes) };
    } finally {
      response.discard();
    }
  };
  return { http: { request }, hasMore: () => hasMore };
};
