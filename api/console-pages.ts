import type { Page } from './console/page.ts';
import { agentPage } from './console/pages/agent.ts';
import { agentListPage } from './console/pages/agent-list.ts';
import { auditPage } from './console/pages/audit.ts';
import { auditHeadsPage } from './console/pages/audit-heads.ts';
import { deliveryPage } from './console/pages/delivery.ts';
import { deliveryListPage } from './console/pages/delivery-list.ts';
import { eventPage } from './console/pages/event.ts';
import { eventListPage } from './console/pages/event-list.ts';
import { overviewPage } from './console/pages/overview.ts';

/** The pages of the console. */
export const consolePages: readonly Page[] = [
  overviewPage,
  deliveryListPage,
  deliveryPage,
  agentListPage,
  agentPage,
  auditPage,
  auditHeadsPage,
  eventListPage,
  eventPage,
];
