import type { Context, Hono } from 'hono';
import { type ConsoleDeps, framedResponse, identify, refuse } from './answers.ts';
import { unknownPage } from './error-page.ts';

/** All paths below a tenant; its route comes after those of the pages. */
export const UNKNOWN_PATH = '/console/t/:tenant_id/*';
const METHODS = ['GET', 'POST'] as const;

/** Returns the methods that a path of the console supports. */
const allowedAt = (app: Hono, path: string): readonly string[] => {
  const routes = (method: string) =>
    app.router.match(method, path)[0].map(([entry]) => (entry as unknown as [unknown, { path: string }])[1]);
  const known = METHODS.filter((method) => routes(method).some((route) => route.path !== UNKNOWN_PATH));
  return known.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
};

const NOT_ALLOWED = {
  page: {
    status: 405,
    code: 'method_not_allowed',
    title: 'This page changes nothing',
    detail: 'Open it, instead of sending a form to it.',
  },
  form: {
    status: 405,
    code: 'method_not_allowed',
    title: 'This address is not a page',
    detail: 'Only a form of the console sends to it: open its page.',
  },
} as const;

const withAllow = (response: Response, allow: string): Response => {
  response.headers.set('allow', allow);
  return response;
};

/** Answers a request for an unknown path, or with a method that the path does not support. */
export const unknownPath =
  (app: Hono, deps: ConsoleDeps) =>
  async (c: Context): Promise<Response> => {
    const allow = allowedAt(app, c.req.path).join(', ');
    if (allow !== '' && c.req.method === 'OPTIONS') return c.body(null, 204, { allow: `${allow}, OPTIONS` });
    const visit = await identify(c, deps);
    if (allow !== '') {
      const why = NOT_ALLOWED[allow.startsWith('GET') ? 'page' : 'form'];
      return withAllow(refuse(c, deps, why, visit instanceof Response ? undefined : visit), allow);
    }
    if (visit instanceof Response) return visit;
    return framedResponse(c, deps, visit, { ...unknownPage(visit), status: 404 });
  };
