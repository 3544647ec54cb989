import type { Context, Env, Hono } from 'hono';
import type { z } from 'zod';
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
  /** Additional parameters, such as headers, in the format of OpenAPI. */
  readonly parameters?: readonly object[];
  readonly requestBody?: object;
  /** The responses other than problems. */
  readonly responses: Readonly<Record<string, object>>;
  /** The statuses of the route's problems, without those that any request can have. */
  readonly problems?: readonly number[];
  readonly handler: (deps: Deps) => (c: Context<Env, Path>) => Response | Promise<Response>;
};

/** The schemas to which the responses of plain routes refer by name in the OpenAPI document. */
export const PLAIN_SCHEMAS: Schemas = {};

/** The OpenAPI entries of routes, by path and method. */
export type PlainPaths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Defines a plain route. The Hono route and its OpenAPI entry are both made from this definition. */
export const plainRoute = <Deps, const Path extends string>(row: PlainRoute<Deps, Path>): PlainRoute<Deps> =>
  row as unknown as PlainRoute<Deps>;

export const headerParameter = (name: string, description: string, required = true) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
});

/** Adds the routes to the application. */
export const mountPlainRoutes = <Deps>(app: Hono, routes: readonly PlainRoute<Deps>[], deps: Deps): void => {
  for (const { method, path, handler } of routes) app.on(method, path, handler(deps));
};

const documented = <Deps>({
  handler: _,
  method,
  path,
  tag,
  query,
  parameters = [],
  responses,
  problems = [],
  ...row
}: PlainRoute<Deps>) => {
  const all = [...parametersOf(path, query, {}), ...parameters];
  const entry = { ...row, tags: [tag], responses: { ...problemResponses(problems), ...responses } };
  return { [templateOf(path)]: { [method]: { ...entry, ...(all.length > 0 ? { parameters: all } : {}) } } };
};

/**
 * Creates the OpenAPI entries of routes. Two routes must not have the same path, because the entry of the second would
 * replace that of the first.
 */
export const documentPlainRoutes = <Deps>(routes: readonly PlainRoute<Deps>[]): PlainPaths => Object.assign({}, ...routes.map(documented));
