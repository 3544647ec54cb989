import type { Operation } from '../../http/operation.ts';
import { counted } from '../parts/count-text.ts';
import type { Form } from './form.ts';
import { isForPeople } from './form-words.ts';

const DANGEROUS =
  /^(delete|erase|revoke|remove|retire|disconnect|close|suspend|lift|unlink|hide|disallow|yank|drop|end|take|forget|abort)(?=[A-Z])/;

/** Whether an operation removes or disables something. Its button then looks dangerous. */
export const isDangerous = (operation: string): boolean => DANGEROUS.test(operation);

/** What operations do that remove or disable something. `{it}` is the name of the object. */
const CONSEQUENCES: Readonly<Record<string, string>> = {
  abortRebuild: 'The rebuilt rows are dropped. The live rows stay as they are.',
  closeModelToTenant: 'Agents of the tenant can no longer use {it}.',
  closeTenant: 'Members of {it} can no longer sign in, agents get no deliveries, and it is erased later. Until then it can be reopened.',
  deleteAgent: '{it} gets no deliveries any more. It can be restored with its settings.',
  deleteCronJob: '{it} is not due any more.',
  deleteSkill: 'Agents can no longer use {it}.',
  disallowAccount: '{it} can no longer sign in, unless it is the address of a member of a tenant.',
  disconnectWebhookIntegration: 'The address of {it} stops working at once. What it received stays.',
  dropPreviousWebhookSecret: 'Deliveries of {it} that are signed with the previous secret are rejected from now on.',
  endMySignIn: 'This browser must sign in again before its next request: {it}.',
  endOtherSignIns: 'All other browsers must sign in again before their next request.',
  eraseTenant: 'All data of {it} are erased at once. They cannot be restored.',
  forgetMemoryEntry: '{it} no longer has this entry. It cannot be restored.',
  forgetMemorySince: '{it} no longer has the entries since then. They cannot be restored.',
  hideSkill: '{it} no longer sees the skill.',
  liftCronBlackout: 'Jobs fire again on the days of {it}.',
  removeMember: '{it} loses every role and grant in this tenant.',
  removeTool: 'Agents can no longer use {it}.',
  retireBenchmark: '{it} can no longer be run. Its results stay.',
  revokeAgentAccess: '{it} loses this access to the agent at once.',
  revokeAgentRole: '{it} loses this role on the agent at once.',
  revokeAgentSkill: 'The agent can no longer use {it}, and its configuration is removed.',
  revokeAgentTool: 'The agent can no longer use {it}.',
  revokeApiKey: 'Programs with the key {it} are refused at once, and sessions that it opened end.',
  revokeModel: 'The agent no longer uses {it}. The next model of its chain takes over.',
  revokePlatformKey: 'Programs with the key {it} are refused at once.',
  revokeRunnerCredential: 'The runner with this credential is disconnected at once.',
  revokeRunnerKey: 'Runners with the key {it} stop working at once.',
  suspendTenant: 'Members of {it} can no longer use it, and its agents get no deliveries until it is resumed.',
  takeAgentCredential: 'The runner gets the secret of {it} no more. Change it, too, if the runner must not use it any longer.',
  unlinkIdentity: 'No runner gets the secret of {it} any more, and all agents lose it.',
  yankVersion: 'The version can no longer be installed. Where it is installed, it stays.',
};

/** Returns what an operation removes or disables, as a text before and after the name of the object; null if nothing. */
export const consequenceOf = (operation: string, subject: string | null): readonly [before: string, name: string, after: string] | null => {
  if (!isDangerous(operation)) return null;
  const text = CONSEQUENCES[operation] ?? 'This cannot be undone: {it}.';
  const [before = '', after] = text.split('{it}');
  return after === undefined ? [before, '', ''] : [before, subject ?? (before === '' ? 'It' : 'it'), after];
};

/** Whether an operation has a sentence of its own about what it removes or disables. */
export const hasConsequence = (operation: string): boolean => Object.hasOwn(CONSEQUENCES, operation);

export const titleOf = (row: Operation, { layout }: Form): string => layout?.title ?? row.summary;

/** Returns the sentences below the title of a form; null if there are none for people. */
export const introOf = (row: Operation, { layout }: Form): string | null => {
  if (layout) return layout.intro ?? null;
  return row.details !== undefined && isForPeople(row.details) ? row.details : null;
};

/** Buttons whose text does not follow from the title. */
const BUTTONS: Readonly<Record<string, string>> = {
  closeTenant: 'Close this tenant',
  endMySignIn: 'Sign this browser out',
  endOtherSignIns: 'Sign the others out',
  eraseTenant: 'Erase the tenant',
  grantModel: 'Add the model',
  healMailboxes: 'Provision the mailboxes',
  interruptSession: 'Stop the agent',
  openBillingPortal: 'Go to the portal',
  previewAccess: 'Show the preview',
  revokeModel: 'Remove the model',
  rotateSkillToken: 'Replace the token',
  setSessionDraft: 'Show the text',
  tryGuardrails: 'Try the rules',
};

/** Returns what the button of a form says: the act, with its object. `total` is how many deliveries the act is about. */
export const buttonText = (operation: string, row: Operation, { layout }: Form, total?: number): string => {
  const own = layout?.submit ?? BUTTONS[operation];
  if (own !== undefined)
    return total === undefined ? own.replace('{total} ', 'the ') : own.replace('{total} deliveries', counted(total, 'delivery'));
  const isChange = (row.method === 'put' || row.method === 'patch') && /^(?:Change|Replace|Update|Set) /.test(row.summary);
  if (isChange) return 'Save the changes';
  const text = row.summary.replace(/ an? /, ' the ');
  return text === row.summary ? `${text.split(' ')[0]} now` : text;
};
