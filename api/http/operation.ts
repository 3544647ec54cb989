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

/** The fields of a body. If the body is a list, it becomes the field `items`. */
type BodyFields<T> = Output<T> extends readonly unknown[] ? { readonly items: Output<T> } : Output<T>;

/** Path parameters, query and body fields in one object. A path parameter replaces a field with the same name. */
type Input<Path extends string, Query, Body> = Output<Query> & BodyFields<Body> & { [Name in Params<Path>]: string };

/**
 * The result of a read: a document, a page, or null if there is no such resource. A page can have the total count of
 * the list.
 */
export type Read = Doc | (Page & { readonly total?: number | undefined; readonly position?: Position | null }) | null;

/** A folded state that contains one page of a long list. `next` is the cursor of the next page. */
export type LoadedPage = Loaded<unknown> & { readonly next?: string | null };

/**
 * The result of a read that shows secrets. `body` is JSON, `etag` a strong ETag of it, and `position` the log position
 * of its newest event, as a consistency token. `record` is called before the body is sent, but not if the client
 * already has the body (If-None-Match).
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
  /** One clause of at most 48 characters. */
  readonly summary: string;
  /** Further sentences for the OpenAPI document. */
  readonly details?: string;
  /** The heading under which the OpenAPI document lists the operation. */
  readonly area?: string;
  readonly permit: Permit;
  /**
   * Replaces the generated text about permissions in the OpenAPI document, if `run` checks other permissions than
   * `permit`.
   */
  readonly permissionNote?: string;
  /**
   * Checks permissions that `permit` cannot express, before the query and the body are validated. So validation errors
   * tell an unauthorized caller nothing. `readBody` returns the JSON of the body, which may have any shape.
   * @throws Refusal
   */
  readonly preauthorize?: (ctx: Ctx, params: Readonly<Record<string, string>>, readBody: () => Promise<unknown>) => Promise<void>;
  readonly query?: Query;
  readonly body?: Body;
  /** The schema of the response body. If it is absent, the response has no body and the status 204. */
  readonly reply?: z.ZodType;
  readonly status?: 200 | 201 | 202 | 204;
  /**
   * Another status that the response can have: 200 if the resource existed before, 204 if the resource no longer
   * exists.
   */
  readonly alternateStatus?: 200 | 204;
  /**
   * The path for the Location header. Placeholders such as `:id` stand for path parameters or fields of the response.
   */
  readonly location?: string;
  /** Returns further headers of the response to a mutation, such as a cookie. */
  readonly headers?: (state: unknown) => Readonly<Record<string, string>>;
  /**
   * Whether the response contains a secret that no later response shows. A repeat with the same Idempotency-Key is
   * refused.
   */
  readonly oneTimeSecret?: true;
  /**
   * The projection that a read queries. If the client sends a Consistency-Token, the read waits until this projection
   * has passed the token's position.
   */
  readonly projection?: string;
  /**
   * The aggregate that an as-of read folds, if it folds only one. Its id is the last path parameter. If the aggregate
   * cache has later events than the projection, the read answers from the cache.
   */
  readonly aggregate?: AnyAggregate;
  /**
   * Set if the response also contains data of other streams, so that it can change although its ETag stays the same.
   * Clients can then use the ETag only for If-Match, and the response is never 304.
   */
  readonly noConditionalGet?: true;
  /**
   * Set if the result does not belong to a single stream. The response then has no ETag, and the only accepted If-Match
   * value is `*`.
   */
  readonly noETag?: true;
  /** Whether a runner may call the operation while its tenant is suspended. `preauthorize` then checks the runner. */
  readonly inSuspendedTenant?: true;
  /**
   * Whether the operation can fail because of the answer of another host. The OpenAPI document then lists the status
   * 502.
   */
  readonly asksOtherHosts?: true;
  readonly run: (ctx: Ctx, input: Input<Path, Query, Body>) => Promise<LoadedPage | Read | SecretRead> | LoadedPage | Read;
};

/**
 * An operation whose types of path, query, body and reply are known, so that a call of it is checked by the compiler.
 */
export type TypedOperation<Path extends string, Query, Body, Reply> = Operation & {
  readonly path: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly reply?: Reply;
};

/**
 * Defines one row of an area's table of operations: route, permission, schemas and handler. No operation can lack a
 * permission by mistake, because `permit` is required.
 */
export const operation = <
  const Path extends string,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  Reply extends z.ZodType | undefined = undefined,
>(
  row: OperationOf<Path, Query, Body> & { readonly reply?: Reply },
): TypedOperation<Path, Query, Body, Reply> => row as TypedOperation<Path, Query, Body, Reply>;

/** A table of operations. The key is the operationId in the OpenAPI document. */
export type Operations = Readonly<Record<string, Operation>>;

export const isRead = ({ method }: Pick<Operation, 'method'>): boolean => method === 'get';

/**
 * Whether a request creates a separate resource, so that there is no existing resource with which If-Match could be
 * compared.
 */
export const createsResource = ({ status, location }: Pick<Operation, 'status' | 'location'>): boolean =>
  status === 201 && location?.endsWith('/:id') === true;

/**
 * Whether a request must have a body. The body can be absent if the operation has no fields, and for a POST whose
 * fields are all optional.
 */
export const needsBody = ({ method, body }: Pick<Operation, 'method' | 'body'>): boolean =>
  body !== undefined && (method !== 'post' || !body.safeParse({}).success);

/** Whether the body of a request is read. The body of a DELETE is read only if the operation has fields. */
export const readsBody = ({ method, body }: Pick<Operation, 'method' | 'body'>): boolean =>
  method !== 'get' && (method !== 'delete' || body !== undefined);
