import type { z } from 'zod';
import type { Ctx as CommandCtx, Loaded } from '../../commands/context.ts';
import type { Permit } from '../../domain/access/permission.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';
import type { Position } from '../../domain/event.ts';
import type { Doc, Page, Reads } from '../../projections/read-model.ts';

/** The context in which an operation runs: the context of commands, and the read models. */
export type Ctx = Omit<CommandCtx, 'inTenant'> & { readonly reads: Reads; readonly inTenant: (tenant: string) => Ctx };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Params<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Output<T> = T extends z.ZodType ? z.output<T> : unknown;

/** The fields of a request body. A body that is a list becomes the field `items`. */
type BodyFields<T> = Output<T> extends readonly unknown[] ? { readonly items: Output<T> } : Output<T>;

/** Path parameters, query and body fields in one object. A path parameter replaces a field with the same name. */
type Input<Path extends string, Query, Body> = Output<Query> & BodyFields<Body> & { [Name in Params<Path>]: string };

/**
 * The result of a read: a document, a page of a list, or null if the resource does not exist. `total` is the number of items in the whole
 * list, `hidden` the number of items that a filter hides.
 */
export type Read =
  | Doc
  | (Page & { readonly total?: number | undefined; readonly hidden?: number | undefined; readonly position?: Position | null })
  | null;

/** A folded state whose long list is cut to one page. `next` is the cursor of the next page. */
export type LoadedPage = Loaded<unknown> & { readonly next?: string | null };

/**
 * The result of a read that shows secrets. `body` is JSON, `etag` its strong ETag, and `position` the position of the
 * newest event in it, as a consistency token. `record` records the read, and is called before the body is sent. If the
 * client already has this body (If-None-Match), it is not called.
 */
export type SecretRead = {
  readonly body: string;
  readonly etag: string;
  readonly position: string;
  readonly record: () => Promise<unknown>;
};

// biome-ignore lint/suspicious/noExplicitAny: a table holds operations of every shape
export type Operation = OperationOf<string, any, any>;

type OperationOf<Path extends string, Query extends z.ZodType | undefined, Body extends z.ZodType | undefined> = {
  readonly method: Method;
  readonly path: Path;
  /** A short phrase of at most 48 characters. */
  readonly summary: string;
  /** Further sentences for the OpenAPI document. */
  readonly details?: string;
  /** The heading under which the OpenAPI document lists the operation. */
  readonly area?: { readonly title: string; readonly description?: string | undefined };
  readonly permit: Permit;
  /**
   * Replaces the generated sentence about permissions in the OpenAPI document. Needed if `run` or `preauthorize` checks
   * other permissions than `permit`.
   */
  readonly permissionNote?: string;
  /**
   * Checks permissions that `permit` cannot express. It runs before the query and the body are validated, so that
   * unauthorized callers learn nothing from validation errors. `readBody` returns the JSON of the body, which is not
   * validated yet.
   * @throws Refusal
   */
  readonly preauthorize?: (ctx: Ctx, params: Readonly<Record<string, string>>, readBody: () => Promise<unknown>) => Promise<unknown>;
  readonly query?: Query;
  readonly body?: Body;
  /** The schema of the response body. If it is absent, the response has no body and the status 204. */
  readonly reply?: z.ZodType;
  readonly status?: 200 | 201 | 202 | 204;
  /**
   * A second status that a successful response can have: 200 if the resource already existed, 204 if it no longer
   * exists.
   */
  readonly alternateStatus?: 200 | 204;
  /**
   * The path for the Location header. A placeholder, such as `:id`, stands for a path parameter or a field of the
   * response.
   */
  readonly location?: string;
  /** Returns additional headers for the response of a mutation, such as a cookie. */
  readonly headers?: (state: unknown) => Readonly<Record<string, string>>;
  /**
   * Set if the response contains a secret that is shown only once. A repeat with the same Idempotency-Key is then
   * refused.
   */
  readonly oneTimeSecret?: true;
  /**
   * Set if an operation that is not a GET changes nothing, such as a preview. It honours a Consistency-Token as a GET
   * does.
   */
  readonly readsOnly?: true;
  /**
   * The projection from which an operation gets its data. If the client sends a Consistency-Token, the operation first waits
   * until this projection has passed the token's position.
   */
  readonly projection?: string;
  /**
   * Further projections from which the response contains data. The read waits for them in the same way. A function if
   * they depend on the query. An operation with `aggregate` has none.
   */
  readonly otherProjections?: readonly string[] | ((query: Output<Query>) => readonly string[]);
  /**
   * The aggregate that the read shows, if it shows only one. The last path parameter is its id. As-of reads fold this
   * aggregate. If the aggregate cache has later events than the projection, the read uses the cache.
   */
  readonly aggregate?: AnyAggregate;
  /**
   * Set if the response also contains data of other streams. It can then change although its ETag stays the same. So
   * clients can use the ETag only for If-Match, and the status is never 304.
   */
  readonly noConditionalGet?: true;
  /**
   * Set if the result does not belong to a single stream. The response then has no ETag, and If-Match may only be `*`.
   */
  readonly noETag?: true;
  /**
   * Set if a runner may call the operation while its tenant is suspended. In this case, `preauthorize` must check the
   * runner.
   */
  readonly inSuspendedTenant?: true;
  /** Set if the operation can fail because of another host. The OpenAPI document then lists the status 502. */
  readonly asksOtherHosts?: true;
  readonly run: (ctx: Ctx, input: Input<Path, Query, Body>) => Promise<LoadedPage | Read | SecretRead> | LoadedPage | Read;
};

/** An operation that keeps the types of its path, query, body and reply, so that the compiler can check calls of it. */
export type TypedOperation<Path extends string, Query, Body, Reply> = Omit<Operation, 'path' | 'query' | 'body' | 'reply'> & {
  readonly path: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly reply?: Reply;
};

/**
 * Defines one API operation, as an entry of a table of operations: its route, permission, schemas and handler. `permit`
 * is required, so that no operation lacks a permission by mistake.
 */
export const operation = <
  const Path extends string,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  Reply extends z.ZodType | undefined = undefined,
>(
  row: OperationOf<Path, Query, Body> & { readonly reply?: Reply },
): TypedOperation<Path, Query, Body, Reply> => row as TypedOperation<Path, Query, Body, Reply>;

/** A table of operations. The keys are the operation ids in the OpenAPI document. */
export type Operations = Readonly<Record<string, Operation>>;

export const projectionsOf = ({ projection, otherProjections = [] }: Operation, query: object): readonly string[] => {
  if (projection === undefined) return [];
  return [projection, ...(typeof otherProjections === 'function' ? otherProjections(query) : otherProjections)];
};

/** Returns whether the operation honours a Consistency-Token: a read, a preview, or a change that selects rows. */
export const takesToken = (row: Operation): boolean => isRead(row) || row.readsOnly === true || row.projection !== undefined;

export const isRead = ({ method }: Pick<Operation, 'method'>): boolean => method === 'get';

/**
 * Returns whether a request creates a new resource. If-Match does not apply to such a request, because there is no
 * existing resource to compare with.
 */
export const createsResource = ({ status, location }: Pick<Operation, 'status' | 'location'>): boolean =>
  status === 201 && location?.endsWith('/:id') === true;

/**
 * Returns whether a request must have a body. It need not if the operation has no fields, or if it is a POST and all
 * fields are optional.
 */
export const needsBody = ({ method, body }: Pick<Operation, 'method' | 'body'>): boolean =>
  body !== undefined && (method !== 'post' || !body.safeParse({}).success);

/** Returns whether the body of a request is read. The body of a DELETE is read only if the operation has fields. */
export const readsBody = ({ method, body }: Pick<Operation, 'method' | 'body'>): boolean =>
  method !== 'get' && (method !== 'delete' || body !== undefined);
