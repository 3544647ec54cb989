import { createHmac } from 'node:crypto';

const BODY_BYTES = 2_048;

const commit = (number: number): string => number.toString(16).padStart(8, '0').repeat(5);

const change = (number: number, step: number) => ({
  id: commit(number + step),
  message: `Step ${step} of change ${number}`,
  author: { name: `developer-${number % 20}` },
  added: [],
  removed: [],
  modified: [`source/part-${step}.ts`],
});

const push = (number: number) => ({
  ref: 'refs/heads/main',
  before: commit(number),
  after: commit(number + 1),
  created: false,
  deleted: false,
  forced: false,
  repository: { id: 1_000 + (number % 50), full_name: `acme/service-${number % 50}`, private: true, default_branch: 'main' },
  pusher: { name: `developer-${number % 20}`, email: `developer-${number % 20}@example.test` },
  sender: { login: `developer-${number % 20}`, id: 500 + (number % 20), type: 'User' },
});

/** Returns the body of a GitHub push event. It contains as many commits as fit into 2 KB. */
export const pushBody = (number: number): string => {
  const commits: ReturnType<typeof change>[] = [];
  const text = (more: typeof commits): string => JSON.stringify({ ...push(number), commits: more });
  for (let next = [change(number, 1)]; text(next).length <= BODY_BYTES; next = [...commits, change(number, commits.length + 1)])
    commits.splice(0, commits.length, ...next);
  return text(commits);
};

export const signatureOf = (secret: string, body: string): string => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

export const agentBody = (name: string): string =>
  JSON.stringify({
    name: `Agent ${name}`,
    slug: `agent-${name}`,
    description: 'Answers pull requests and keeps the changelog current.',
    kind: 'coding',
    environment_mode: 'isolated',
    resource_class: 'small',
    initial_greeting: 'Hello',
    iteration_warn_threshold: 25,
    voice: 'plain',
  });
