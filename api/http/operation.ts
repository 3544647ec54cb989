import type { z } from 'zod';
import type { Ctx as CommandCtx, Loaded } from '../../commands/context.ts';
import type { Permit } from '../../domain/access/permission.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';
import type { Position } from '../../domain/event.ts';
import type { Doc, Page, Reads } from '../../projections/read-model.ts';

/** What an operation works with: what commands do, and the read models. */
export type Ctx = CommandCtx & { readonly reads: Reads };

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Params<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Output<T> = T extends z.ZodType ? z.output<T> : unknown;

/** Everything an operation was sent: path, query and body in one object, the path's names winning. */
type Input<Path extends string, Query, Body> = Output<Query> & Output<Body> & { [Name in Params<Path>]: string };

/** What a read answers: a document, a page (with the whole list's count where the caller may know it), or nothing there. */
export type Read = Doc | (Page & { readonly total?: number | undefined; readonly position?: Position | null }) | null;

// biome-ignore lint/suspicious/noExplicitAny: a table holds operations of every shape
export type Operation = OperationOf<string, any, any>;

type OperationOf<Path extends string, Query extends z.ZodType | undefined, Body extends z.ZodType | undefined> = {
  readonly method: Method;
  readonly path: Path;
  readonly summary: string;
  /** The heading under which the document shows it. */
  readonly area?: string;
  readonly permit: Permit;
  /** What the document says is needed, where `run` asks for more or for something else than `permit`. */
  readonly permissionNote?: string;
  readonly query?: Query;
  readonly body?: Body;
  /** Absent: 204. */
  readonly reply?: z.ZodType;
  readonly status?: 200 | 201 | 202 | 204;
  /** Answered instead where it was there already (200) or is there no more (204). */
  readonly alternateStatus?: 200 | 204;
  /** The new resource's path; `:id` is the answer's id. */
  readonly location?: string;
  /** The answer bears a secret that is never shown again. */
  readonly oneTimeSecret?: true;
  /** The projection that a read rests on, for its tokens. */
  readonly projection?: string;
  /**
   * Of a read that looks back (`as_of`): the aggregate of whose events alone its answer is made; its id is the path's last. What memory knows of
   * it beyond the projection is answered from there.
   */
  readonly aggregate?: AnyAggregate;
  /** Of a read that shows more than its stream: it changes under one revision, so that an ETag is for If-Match alone and never answers 304. */
  readonly noConditionalGet?: true;
  /** What is shown or done is no stream's and has no revision: it bears no ETag, and no If-Match meets one. */
  readonly noETag?: true;
  readonly run: (ctx: Ctx, sent: Input<Path, Query, Body>) => Promise<Loaded<unknown> | Read> | Loaded<unknown> | Read;
};

/** One row of an area's table: how it is asked, who may, what it answers. Leaving out `permit` is a type error. */
export const operation = <
  const Path extends string,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(
  row: OperationOf<Path, Query, Body>,
): Operation => row;

/** A table of operations by name; the name is the OpenAPI operationId. */
export type Operations = Readonly<Record<string, Operation>>;

export const isRead = ({ method }: Pick<Operation, 'method'>): boolean => method === 'get';

/** A POST all of whose fields may be left out takes no body as well, as does whatever has no fields. */
export const needsBody = ({ method, body }: Pick<Operation, 'method' | 'body'>): boolean =>
  body !== undefined && (method !== 'post' || !body.safeParse({}).success);
