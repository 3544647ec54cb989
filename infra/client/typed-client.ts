import type { Answer, Problem } from '../../api/http/answer.ts';
import { problemLines } from '../../domain/refusal.ts';
import type { Fields, OperationName, Reply } from './operation-types.ts';

type ListName = { [Name in OperationName]: Reply<Name> extends readonly unknown[] ? Name : never }[OperationName];
type ListItem<Name extends ListName> = Reply<Name> extends readonly (infer Item)[] ? Item : never;

export type ClientOptions = {
  /** The URL of the platform. Default: ANNALS_URL. */
  readonly url?: string | undefined;
  /** An API key, or a token of the configured OIDC issuer. Default: ANNALS_KEY. */
  readonly key?: string | undefined;
  readonly fetch?: typeof globalThis.fetch;
  /** How long an attempt may take, in milliseconds. Default: 30,000, and 120,000 for uploads. */
  readonly timeoutMs?: number;
  /** How many times a request is repeated after a temporary failure. Default: 4. */
  readonly retries?: number;
};

export type CallOptions = Pick<ClientOptions, 'timeoutMs' | 'retries'> & {
  /** The ETag of an earlier answer. If the resource has changed since, the call is refused with `precondition_failed`. */
  readonly ifMatch?: string | null;
  /** Replaces the key that the client creates, so that even another process repeats the same request. */
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

/** The fields can be omitted if the operation needs none. */
type Arguments<Name extends OperationName> =
  object extends Fields<Name> ? [sent?: Fields<Name>, options?: CallOptions] : [sent: Fields<Name>, options?: CallOptions];

export type Client = {
  /**
   * Calls an operation. If it is refused, the result is an answer with `ok: false` and the problem. An answer also has
   * the status, the headers, the ETag and the position in the log.
   * @throws Error of one line if the platform does not answer
   */
  readonly ask: <Name extends OperationName>(name: Name, ...rest: Arguments<Name>) => Promise<Answer<Reply<Name>>>;
  /** Calls an operation and returns its reply. @throws an error from which `problemIn` reads the problem */
  readonly call: <Name extends OperationName>(name: Name, ...rest: Arguments<Name>) => Promise<Reply<Name>>;
  /** Reads the items of a list, page after page. @throws as `call` does */
  readonly each: <Name extends ListName>(name: Name, ...rest: Arguments<Name>) => AsyncGenerator<ListItem<Name>, void>;
  /**
   * Returns a client that reads the state at an earlier time (RFC 3339) or consistency token. It refuses changes, and
   * reads that show only the present.
   */
  readonly at: (asOf: string) => Client;
};

/** Returns the problem with which the platform refused a call; null if the error has another reason. */
export const problemIn = (error: unknown): Problem | null =>
  error instanceof Error && error.name === 'ProblemError' ? (error as Error & { readonly problem: Problem }).problem : null;

export const problemError = (name: string, problem: Problem): Error => {
  const told = problemLines(problem.detail, problem.errors).join('; ');
  const message = `${name}: ${problem.status} ${problem.title}: ${told} (request id ${problem.request_id})`;
  return Object.assign(new Error(message), { name: 'ProblemError', problem });
};
