import { changedFields } from '../aggregate.ts';
import { displayText } from '../fields.ts';
import { conflict, invalid, Refusal } from '../refusal.ts';
import { withoutEnd } from '../text-end.ts';
import { type Agent, type AgentEvent, assertExists, initial } from './agent.ts';
import { nearestNames } from './nearest-names.ts';

/** The maximum number of listed branches, and of listed tags. */
export const MAX_REFS = 1_000;
const MAX_NEAREST = 3;

/** `complete` is false if a list could not be read, or has MAX_REFS names and may therefore lack some. */
export type RefSet = { readonly branches: readonly string[]; readonly tags: readonly string[]; readonly complete: boolean };

/**
 * Matches everything that the name of a branch or tag must not contain (see git-check-ref-format): spaces, control
 * characters, `~^:?*[\`, two dots, `@{`, an empty part, a part that starts with a dot or ends in `.lock`, a hyphen at
 * the start, a dot at the end.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: git does not allow control characters in names
const NOT_IN_REF = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|(^|\/)\.|\.lock(\/|$)|^-|\.$|^$/;

/** Whether git accepts the text as the name of a branch or tag. */
export const isRefName = (text: string): boolean => !NOT_IN_REF.test(text);

export const CodeRef = displayText(1, 128).refine(isRefName, 'must be a name that git accepts for a branch or tag');

const isPlainUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && hostname !== '' && username === '' && password === '' && !/[?#]/.test(text);
};

/** Refuses user names and passwords, because events contain the URL. The host is checked when a request is sent to it. */
export const RepoUrl = displayText(1, 2_048)
  .refine(isPlainUrl, 'must be an https URL without a user name, password, query or fragment')
  .meta({ format: 'uri' })
  .transform((text) => (isPlainUrl(text) ? withoutEnd(new URL(text).href, /\//) : text));

/** Suggests the most similar names. */
export const unknownRef = (name: string, { branches, tags }: RefSet): Refusal => {
  const nearest = nearestNames(name, [...new Set([...branches, ...tags])], MAX_NEAREST);
  const hint = nearest.length > 0 ? `; the most similar names are ${nearest.join(', ')}` : '';
  const message = `The repository has no branch or tag ${name}${hint}`;
  return new Refusal('invalid', message, { errors: [{ pointer: '/code_ref', code: 'unknown_ref', message }], members: { nearest } });
};

export const noRepository = (): Refusal => invalid('/code_ref', 'The agent has no repository: link one with PUT …/repo', 'no_repository');

export const NO_REPO: Pick<Agent, 'repo_url' | 'code_ref'> = { repo_url: initial.repo_url, code_ref: initial.code_ref };

/** NO_REPO removes the link. The caller must have checked that the repository has the branch or tag. @throws Refusal not_found */
export const linkRepo =
  (linked: Pick<Agent, 'repo_url' | 'code_ref'>) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    return Object.keys(changedFields(agent, linked)).length === 0 ? [] : [{ type: 'AgentRepoLinked', data: linked }];
  };

/**
 * The caller must have checked that `repo_url` has this branch or tag.
 * @throws Refusal not_found, invalid if the agent has no repository, conflict if it has another one by now
 */
export const pinCodeRef =
  (repo_url: string | null, code_ref: string) =>
  (agent: Agent): AgentEvent[] => {
    assertExists(agent);
    if (agent.repo_url === null) throw noRepository();
    if (agent.code_ref === code_ref) return [];
    if (agent.repo_url !== repo_url) throw conflict('/code_ref', 'repository_changed', 'The repository has just been changed: try again');
    return [{ type: 'AgentCodeRefPinned', data: { code_ref } }];
  };
