import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { html } from 'hono/html';
import { omit } from '../../domain/omit.ts';
import { Refusal } from '../../domain/refusal.ts';
import { problemTypeAt } from '../http/problem.ts';
import { STATIC_PAGE_POLICY } from '../http/problem-html.ts';
import { exampleProblem } from '../http/problem-responses.ts';
import { EXPLANATIONS } from '../http/problem-types.ts';
import { jsonResponse } from '../http/response.ts';

type Document = ReturnType<typeof describeProblem>;

/** Returns the explanation of the problem type with this path, and an example of it. @throws Refusal not_found */
export const describeProblem = (path: string) => {
  const found = problemTypeAt(path);
  if (!found) throw new Refusal('not_found', 'There is no problem type with this name');
  const explanation = omit(EXPLANATIONS[found.code], 'detail');
  return { ...found, ...explanation, example: exampleProblem(found.code) };
};

const pageOf = ({ title, code, status, when, why, what_to_do, example }: Document) => html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} · Annals</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem}pre{overflow:auto;padding:1rem;border:1px solid}</style></head>
<body><h1>${title}</h1><p><code>${code}</code>, HTTP status ${status}</p>
<h2>When</h2><p>${when}</p><h2>Why</h2><p>${why}</p><h2>What to do</h2><p>${what_to_do}</p>
<h2>Example</h2><pre>${JSON.stringify(example, null, 2)}</pre><p><a href="/docs">API reference</a></p></body>
</html>
`;

/** Explains the problem type at this path. Browsers get a page, other clients JSON. @throws Refusal not_found */
export const explainProblem = async (c: Context): Promise<Response> => {
  const document = describeProblem(c.req.path);
  const type = accepts(c, { header: 'Accept', supports: ['application/json', 'text/html'], default: 'application/json' });
  const vary = { vary: 'Accept' };
  if (type === 'application/json') return jsonResponse(JSON.stringify(document), 200, vary);
  const headers = { ...vary, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': STATIC_PAGE_POLICY };
  return new Response(String(await pageOf(document)), { headers });
};
