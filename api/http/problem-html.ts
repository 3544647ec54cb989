import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { html } from 'hono/html';
import type { Refusal } from '../../domain/refusal.ts';
import { PROBLEMS, problemResponse } from './problem.ts';

/** The policy of a page without scripts that loads nothing. It allows only the style in the page itself. */
export const STATIC_PAGE_POLICY = `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const SIGN_IN = html`<li><a href="/console">Sign in to the console</a>, with an API key or with the link that <code>annals login</code> prints.</li>`;

type Shown = { readonly title: string; readonly detail: string; readonly requestId: string; readonly steps: unknown };

const STEPS = {
  401: html`${SIGN_IN}<li>To call the API, send the header <code>Authorization: Bearer &lt;API key&gt;</code>:
<a href="/docs">the API reference</a> can do so.</li>`,
  404: html`<li><a href="/console">Open the console</a>, which has a page for everything that the API has.</li>
<li><a href="/docs">Read the API reference</a>, which lists all paths.</li>`,
};

const OTHER_STEPS = html`<li><a href="">Try again</a>, or go back to the page that you came from.</li>
<li><a href="/console">Open the console</a>.</li>`;

const stepsOf = (status: number) => (status === 401 || status === 404 ? STEPS[status] : OTHER_STEPS);

const isPerson = (c: Context): boolean =>
  c.req.method === 'GET' &&
  accepts(c, { header: 'Accept', supports: ['application/json', 'text/html'], default: 'application/json' }) === 'text/html';

const pageOf = ({ title, detail, requestId, steps }: Shown) => html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} · Annals</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:4em auto;padding:0 1em}</style></head>
<body><h1>${title}</h1><p>${detail}</p><p>Next:</p><ul>${steps}</ul>
<p>Request <code>${requestId}</code></p></body>
</html>
`;

/**
 * Answers a refused request. A person who has opened the URL in a browser gets a page that says why, and what to do next;
 * everybody else gets the problem document.
 */
export const refusalResponse = async (refusal: Refusal, c: Context): Promise<Response> => {
  const { status, title } = PROBLEMS[refusal.code];
  const problem = problemResponse(refusal, c.req.path, c.get('requestId'));
  if (!isPerson(c)) return problem;
  const shown = { title, detail: refusal.message, requestId: c.get('requestId') ?? '', steps: stepsOf(status) };
  const page = new Response(String(await pageOf(shown)), { status, headers: problem.headers });
  page.headers.set('content-type', 'text/html; charset=utf-8');
  page.headers.set('content-security-policy', STATIC_PAGE_POLICY);
  page.headers.set('vary', 'Accept');
  page.headers.delete('content-length');
  return page;
};
