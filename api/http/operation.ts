import type { z } from 'zod';
import type { Ctx as CommandCtx, Loaded } from '../../commands/context.ts';
import type { Permit } from '../../domain/access/permission.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';
import type { Position } from '../../domain/event.ts';
import type { Doc, Page, Reads } from '../../projections/read-model.ts';

/** The context in which an operation runs: the context of commands, with the read models. */
export type Ctx = CommandCtx & { readonly reads: Reads };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Params<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Output<T> = T extends z.ZodType ? z.output<T> : unknown;

/** Path parameters, query and body fields in one object. A path parameter replaces a field of the same name. */
type Input<Path extends string, Query, Body> = Output<Query> & Output<Body> & { [Name in Params<Path>]: string };

/** The result of a read: a document, a page, or null if there is no such resource. A page may have the total count. */
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
  /** Documents the required permissions if `run` checks other ones than `permit`. */
  readonly permissionNote?: string;
  readonly query?: Query;
  readonly body?: Body;
  /** The schema of the response body. Without it the response has the status 204. */
  readonly reply?: z.ZodType;
  readonly status?: 200 | 201 | 202 | 204;
  /**
   * Another status that the response may have: 200 if the resource existed before, 204 if it no longer exists
   * afterwards.
   */
  readonly alternateStatus?: 200 | 204;
  /** The path of the new resource. `:id` stands for the id in the response. */
  readonly location?: string;
  /** The response contains a secret that is never shown again. */
  readonly oneTimeSecret?: true;
  /**
   * The projection that a read queries. If the client sends a Consistency-Token, the read waits for this projection.
   */
  readonly projection?: string;
  /**
   * The aggregate that an as-of read folds, if it folds only one. Its id is the last path parameter. If the aggregate
   * cache is ahead of the projection, the read answers from the cache.
   */
  readonly aggregate?: AnyAggregate;
  /**
   * The response also shows data of other streams, so it can change although its ETag stays the same. Therefore the
   * ETag works for If-Match only, and the response is never 304.
   */
  readonly noConditionalGet?: true;
  /** The result does not belong to a single stream. It has no ETag, and only `If-Match: *` is accepted. */
  readonly noETag?: true;
  readonly run: (ctx: Ctx, input: Input<Path, Query, Body>) => Promise<Loaded<unknown> | Read> | Loaded<unknown> | Read;
};

/** One row of an area's table: route, permission, schemas and handler. `permit` is required. */
export const operation = <
  const Path extends string,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  row: OperationOf<Path, Query, Body>,
): Operation => row;

/** A table of operations. The key is the operationId in the OpenAPI document. */
export type Operations = Readonly<Record<string, Operation>>;

export const isRead = ({ method }: Pick<Operation, 'method'>): boolean => method === 'get';

/**
 * Whether a request must have a body. The body is optional for operations without fields, and for a POST whose fields
 * are all optional.
 */
export const needsBody = ({ method, body }: Pick<Operation, 'method' | 'body'>): boolean =>
  body !== undefined && (method !== 'post' || !body.safeParse({}).success);
