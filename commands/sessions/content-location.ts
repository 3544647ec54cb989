import * as Session from '../../domain/sessions/session.ts';
import type { SecretLocation } from '../context.ts';

export const contentLocation = (tenant: string, session_id: string, message_id: string): SecretLocation => ({
  tenant,
  category: Session.category,
  id: session_id,
  field: `message/${message_id}`,
});
