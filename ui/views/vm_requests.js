// The requests for one VM.
import { requestsList } from './requests.js';

export function requestsTab(model) {
  const list = requestsList({ namespace: model.namespace, name: model.name });
  return { element: list.element, end: list.end };
}
