import type { z } from 'zod';
import type { Ctx as CommandCtx, Loaded } from '../../commands/context.ts';
import type { Permit } from '../../domain/access/permission.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';
import type { Position } from '../../domain/event.ts';
import type { Doc, Page, Reads } from '../../projections/read-model.ts';

/** The context of an operation: that of commands, and the read models. */
export type Ctx = CommandCtx & { readonly reads: Reads };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Params<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Output<T> = T extends z.ZodType ? z.output<T> : unknown;

/** Path parameters, query and body fields in one object; path parameters win. */
type Input<Path extends string, Query, Body> = Output<Query> & Output<Body> & { [Name in Params<Path>]: string };

/**
 * The result of a read: a document, a page (with the total count, if the caller may know it), or null for not found.
 */
export type Read = Doc | (Page & { readonly total?: number | undefined; readonly position?: Position | null }) | null;

// biome-ignore lint/suspicious/noExplicitAny: a table holds operations of every shape
export type Operation = OperationOf<string, any, any>;

type OperationOf<Path extends string, Query extends z.ZodType | undefined, Body extends z.ZodType | undefined> = {
  readonly method: Method;
  readonly path: Path;
  readonly summary: string;
  /** The heading under which the OpenAPI document lists the operation. */
  readonly area?: string;
  readonly permit: Permit;
  /** Documents the required permissions if `run` checks others than `permit`. */
  readonly permissionNote?: string;
  readonly query?: Query;
  readonly body?: Body;
  /** The schema of the response; without it the response is 204. */
  readonly reply?: z.ZodType;
  readonly status?: 200 | 201 | 202 | 204;
  /** The status if the resource existed before (200) or no longer exists (204). */
  readonly alternateStatus?: 200 | 204;
  /** The path of the new resource; `:id` is the id in the response. */
  readonly location?: string;
  /** The response contains a secret that is never shown again. */
  readonly oneTimeSecret?: true;
  /** The projection that a read uses: a Consistency-Token waits for it. */
  readonly projection?: string;
  /**
   * The only aggregate that an as-of read folds; its id is the last path parameter. If the aggregate cache is ahead of
   * the projection, the read answers from the cache.
   */
  readonly aggregate?: AnyAggregate;
  /**
   * The response also shows data of other streams, so it can change while its ETag stays: the ETag works for If-Match
   * only, never for 304.
   */
  readonly noConditionalGet?: true;
  /** The result belongs to no single stream: it has no ETag, and If-Match is refused. */
  readonly noETag?: true;
  readonly run: (ctx: Ctx, input: Input<Path, Query, Body>) => Promise<Loaded<unknown> | Read> | Loaded<unknown> | Read;
};

/** One row of an area's table: route, permission, schemas and handler. Leaving out `permit` is a type error. */
export const operation = <
  const Path extends string,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  row: OperationOf<Path, Query, Body>,
): Operation => row;

/** A table of operations; the key is the OpenAPI operationId. */
export type Operations = Readonly<Record<string, Operation>>;

export const isRead = ({ method }: Pick<Operation, 'method'>): boolean => method === 'get';

/**
 * Whether the body is required. It is optional for operations without fields, and for a POST whose fields are all
 * optional.
 */
export const needsBody = ({ method, body }: Pick<Operation, 'method' | 'body'>): boolean =>
  body !== undefined && (method !== 'post' || !body.safeParse({}).success);
