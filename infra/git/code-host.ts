import type { CodeHost, CodeHostFailure, HostAnswer, ListedRefs } from '../../commands/agents/code-host.ts';
import { isRefName, MAX_REFS } from '../../domain/agents/code-ref.ts';
import { EgressError } from '../egress/egress-error.ts';
import type { GuardedClient } from '../egress/guarded-client.ts';
import { createLruMap } from '../lru-map.ts';
import { NoRepositoryError, openListing } from './git-transport.ts';

/** The maximum time to read one list, including all of its requests, in milliseconds. */
const LIST_TIMEOUT_MS = 8_000;
const CACHE_MS = 60_000;
/** How long an incomplete list is cached, in milliseconds: a host without an answer does not get a request for every call. */
const FAILED_CACHE_MS = 3_000;
const MAX_CACHED = 1_000;
const MAX_CACHED_CHARACTERS = 8_000_000;
const MAX_NAME_LENGTH = 1_024;
const BRANCH = 'refs/heads/';
const TAG = 'refs/tags/';
/** The user name that is sent for a token without a user name. The common hosts accept any name. */
const TOKEN_USER = 'x-access-token';

export type CodeHostOptions = {
  readonly client: GuardedClient;
  /** Maps host names to tokens, each as `token` or `user:token`. */
  readonly tokens?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  /** The maximum time to read one list, in milliseconds. By default, 8,000. */
  readonly timeoutMs?: number;
};

type Ref = { readonly ref: string; readonly target?: string };
type Listed = { readonly refs: readonly Ref[]; readonly hasMore: boolean };
type Names = { readonly names: readonly string[]; readonly isComplete: boolean; readonly failed: CodeHostFailure | null };

/** An error of the git library means that the answer is not valid. */
const failureOf = (error: unknown, url: string): CodeHostFailure => {
  if (error instanceof EgressError) return { failure: error.failure, message: error.message };
  if (error instanceof NoRepositoryError) return { failure: 'no_repository', message: error.message };
  return { failure: 'bad_response', message: `The answer of ${new URL(url).hostname} is not that of a git server` };
};

const answer = async <T>(url: string, ask: () => Promise<T>): Promise<HostAnswer<T>> => {
  try {
    return { value: await ask(), failed: null };
  } catch (error) {
    return { value: null, failed: failureOf(error, url) };
  }
};

const credentials = (token: string): { username: string; password: string } => {
  const [user, ...rest] = token.split(':');
  return rest.length === 0 ? { username: TOKEN_USER, password: token } : { username: user!, password: rest.join(':') };
};

const tokenIn = (tokens: Readonly<Record<string, string>>, url: string): string | null => {
  const { hostname } = new URL(url);
  return Object.hasOwn(tokens, hostname) ? tokens[hostname]! : null;
};

/** Creates the function that lists the refs of a repository whose names start with `prefix`. */
const refLister =
  ({ client, tokens = {}, timeoutMs = LIST_TIMEOUT_MS }: CodeHostOptions) =>
  async (url: string, prefix: string): Promise<Listed> => {
    // Load the git library at its first use: most processes never need it, and it would delay their start.
    const { listServerRefs } = await import('isomorphic-git');
    const token = tokenIn(tokens, url);
    const { http, hasMore } = openListing({ client, url, maxLines: MAX_REFS, timeoutMs, hasToken: token !== null });
    const refs = await listServerRefs({ http, url, prefix, symrefs: true, ...(token && { onAuth: () => credentials(token) }) });
    return { refs: refs.filter(({ ref }) => typeof ref === 'string' && ref.startsWith(prefix)), hasMore: hasMore() };
  };

const namesIn = (refs: readonly Ref[], prefix: string): string[] => {
  const names = refs.map(({ ref }) => ref.slice(prefix.length));
  return [...new Set(names)].filter((name) => isRefName(name) && name.length <= MAX_NAME_LENGTH);
};

const weightOf = ({ branches, tags }: ListedRefs): number => [...branches, ...tags].reduce((sum, name) => sum + name.length + 32, 200);

/** Uses version 2 of git's HTTP protocol. */
export const createCodeHost = (options: CodeHostOptions): CodeHost => {
  const { now = Date.now } = options;
  const list = refLister(options);
  const cache = createLruMap<string, { readonly refs: ListedRefs; readonly until: number }>({
    capacity: MAX_CACHED,
    maxWeight: MAX_CACHED_CHARACTERS,
    weightOf: ({ refs }) => weightOf(refs),
  });
  const underWay = new Map<string, Promise<ListedRefs>>();

  const namesOf = async (url: string, prefix: string): Promise<Names> => {
    const { value, failed } = await answer(url, () => list(url, prefix));
    if (failed) return { names: [], isComplete: false, failed };
    const names = namesIn(value.refs, prefix);
    return { names: names.slice(0, MAX_REFS), isComplete: !value.hasMore && value.refs.length < MAX_REFS, failed: null };
  };

  const fetchRefs = async (url: string): Promise<ListedRefs> => {
    const [branches, tags] = await Promise.all([namesOf(url, BRANCH), namesOf(url, TAG)]);
    const complete = branches.isComplete && tags.isComplete;
    const refs = { branches: branches.names, tags: tags.names, complete, failed: branches.failed ?? tags.failed, isCached: false };
    cache.set(url, { refs: { ...refs, isCached: true }, until: now() + (refs.failed ? FAILED_CACHE_MS : CACHE_MS) });
    return refs;
  };

  const listRefs = (url: string): Promise<ListedRefs> => {
    const cached = cache.get(url);
    if (cached && cached.until > now()) return Promise.resolve(cached.refs);
    const running = underWay.get(url) ?? fetchRefs(url).finally(() => underWay.delete(url));
    underWay.set(url, running);
    return running;
  };

  const hasRef = async (url: string, name: string): Promise<HostAnswer<boolean>> => {
    const lookUp = (ref: string) => answer(url, async () => (await list(url, ref)).refs.some((found) => found.ref === ref));
    const answers = await Promise.all([lookUp(BRANCH + name), lookUp(TAG + name)]);
    return answers.find(({ value }) => value === true) ?? answers.find(({ failed }) => failed) ?? answers[0]!;
  };

  const headBranch = (url: string): Promise<HostAnswer<string | null>> =>
    answer(url, async () => {
      const head = (await list(url, 'HEAD')).refs.find(({ ref }) => ref === 'HEAD');
      return head?.target?.startsWith(BRANCH) ? head.target.slice(BRANCH.length) : null;
    });

  return { listRefs, hasRef, headBranch, tokenFor: (url) => tokenIn(options.tokens ?? {}, url) };
};
