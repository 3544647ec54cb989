import type { Context, Env, Hono } from 'hono';
import type { z } from 'zod';
import { omit } from '../../domain/omit.ts';
import { parametersOf, type Schemas, templateOf } from './json-schema.ts';
import type { Method } from './operation.ts';
import { problemResponses } from './problem-responses.ts';

/**
 * A route outside the tables of operations. Such a route handles raw bytes, streams, redirects or cookies, or needs no
 * credential.
 */
export type PlainRoute<Deps, Path extends string = string> = {
  readonly method: Method;
  readonly path: Path;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The heading under which the OpenAPI document lists the route. */
  readonly tag: string;
  /**
   * The security requirements in the OpenAPI document. By default, those of all operations apply. `[]` means that the
   * route needs no credential.
   */
  readonly security?: readonly object[];
  /** The schema of the query, used only for the OpenAPI document. The handler validates the query itself. */
  readonly query?: z.ZodType;
  /** The schema of the fields in the request body, used only for the types of clients. */
  readonly body?: z.ZodType;
  /**
   * The schema of a JSON response, or `z.null()` if a response has no body. Used only for the types of clients. If it
   * is absent, clients get the response as it is, such as a file.
   */
  readonly reply?: z.ZodType;
  /** Additional parameters, such as headers, in the format of OpenAPI. */
  readonly parameters?: readonly object[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
  readonly problems?: readonly number[];
  readonly handler: (deps: Deps) => (c: Context<Env, Path>) => Response | Promise<Response>;
};

/** The schemas to which the responses of plain routes refer by name in the OpenAPI document. */
export const PLAIN_SCHEMAS: Schemas = {};

declare const typesOnly: unique symbol;

/** The types that clients need to call a plain route. They exist only at compile time. */
type PlainTypes<Id extends string = string, Path extends string = string, Query = unknown, Body = unknown, Reply = unknown> = {
  readonly [typesOnly]?: { readonly id: Id; readonly path: Path; readonly query?: Query; readonly body?: Body; readonly reply?: Reply };
};

/** The OpenAPI entries of routes, by path and method. `Types` are the types that clients need. */
export type PlainPaths<Types = unknown> = Readonly<Record<string, Readonly<Record<string, unknown>>>> & {
  readonly [typesOnly]?: Types;
};

type TypesOf<Paths extends PlainPaths> = NonNullable<Paths[typeof typesOnly]>;

/** The types of the plain routes in these OpenAPI entries, by operation id. */
export type PlainRowsOf<Paths extends PlainPaths> = {
  readonly [Types in TypesOf<Paths> as Types extends { readonly id: infer Id extends string } ? Id : never]: Types;
};

/** Defines a plain route. The Hono route and its OpenAPI entry are both made from this definition. */
export const plainRoute = <
  Deps,
  const Id extends string,
  const Path extends string,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
  Reply extends z.ZodType | undefined = undefined,
>(
  row: PlainRoute<Deps, Path> & { readonly operationId: Id; readonly query?: Query; readonly body?: Body; readonly reply?: Reply },
): PlainRoute<Deps> & PlainTypes<Id, Path, Query, Body, Reply extends z.ZodType ? Reply : z.ZodType<Response>> => row;

export const headerParameter = (name: string, description: string, required = true) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
});

const documented = <Deps>(route: PlainRoute<Deps>) => {
  const { method, path, tag, query, parameters = [], responses, problems = [], ...row } = omit(route, 'handler', 'body', 'reply');
  const all = [...parametersOf(path, query, {}), ...parameters];
  const entry = { ...row, tags: [tag], responses: { ...problemResponses(problems), ...responses } };
  return { [templateOf(path)]: { [method]: { ...entry, ...(all.length > 0 ? { parameters: all } : {}) } } };
};

type AnyRoute = PlainRoute<never> & PlainTypes;

/** Creates the OpenAPI entries of routes. Several routes can have the same path, with different methods. */
const documentRoutes = <Route extends AnyRoute>(routes: readonly Route[]): PlainPaths<NonNullable<Route[typeof typesOnly]>> =>
  routes.reduce<Record<string, Readonly<Record<string, unknown>>>>((paths, route) => {
    for (const [path, methods] of Object.entries(documented(route))) paths[path] = { ...paths[path], ...methods };
    return paths;
  }, {});

/** Plain routes that belong together: their OpenAPI entries, and a function that adds them to the application. */
export type PlainRoutes<Deps, Paths extends PlainPaths = PlainPaths> = {
  readonly paths: Paths;
  readonly mount: (app: Hono, deps: Deps) => void;
};

type DepsOf<Route> = Route extends { readonly handler: (deps: infer Deps) => unknown } ? Deps : never;

export const plainRoutes = <Route extends AnyRoute>(
  routes: readonly Route[],
): PlainRoutes<DepsOf<Route>, PlainPaths<NonNullable<Route[typeof typesOnly]>>> => ({
  paths: documentRoutes(routes),
  mount: (app, deps) => {
    for (const { method, path, handler } of routes) app.on(method, path, handler(deps as never));
  },
});
