const a = parseInt(element.dataset.entryId, 10); // fault
const b = Number(row.id); // fault
const c = +user.id; // fault
return +params.userId; // fault
interface User { id: number; name: string } // fault
type Row = { user_id?: number }; // fault
const d = Number(element.getAttribute("data-id")); // fault
const e = parseInt(user_id); // fault
const f = ids.map((x) => x), g = Number(page);
const h = String(row.id) + user.id;
type Page = { width: number; valid: number; grid: number };
const i = parseInt(paid, 10) + count;
let timeoutId: number, frameID: number;
// Number(row.id) is in a comment
