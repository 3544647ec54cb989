import type { Area, Needs } from '../area.ts';
import { agentRuntimeOperationsOf } from './agent-runtime.ts';
import { attemptReportOperations } from './attempt-report.ts';
import { runnerCredentialOperations } from './runner-credential.ts';
import { runnerPresenceOperations } from './runner-presence.ts';

type Services = 'createBrokerUser' | 'runnerBroker' | 'codeHost' | 'oauth' | 'packageFiles' | 'recordAttempt';

export const runnersArea = {
  title: 'Runners',
  operations: ({ createBrokerUser, runnerBroker, codeHost, oauth, packageFiles, recordAttempt }: Needs<Services>) => ({
    ...runnerCredentialOperations(createBrokerUser),
    ...runnerPresenceOperations(runnerBroker),
    ...agentRuntimeOperationsOf(codeHost, oauth, packageFiles),
    ...attemptReportOperations(recordAttempt),
  }),
  plainRoutes: [],
} satisfies Area;
