/* clustat's marks behind a device's figures: what an administrator must see before anything else. */
#include "render/table.h"

#include "render/times.h"

#define DAY_US INT64_C(86400000000)

/* NVML's clock event reasons that tell of trouble; idle, power caps and application settings do not. */
static const struct {
    int64_t bit;
    const char *text;
    enum paint paint;
} throttles[] = {
    {0x40, "HW thermal slowdown", PAINT_RED},
    {0x80, "power brake", PAINT_RED},
    {0x08, "HW slowdown", PAINT_RED},
    {0x20, "SW thermal slowdown", PAINT_YELLOW},
};

/* Field value 230 (recovery action); 0 is none. */
static const char *const recoveries[] = {
    NULL, "reset required", "reboot required", "drain P2P", "drain and reset", "recover IMEX",
};

/* Writes notes into one pair of brackets. */
struct note_list {
    struct table *table;
    bool open;
};

static void begin_note(struct note_list *notes, enum paint paint)
{
    buffer_put_string(notes->table->out, notes->open ? ", " : " (");
    notes->open = true;
    pen_start(&notes->table->pen, paint);
}

static void add_note(struct note_list *notes, enum paint paint, const char *text)
{
    begin_note(notes, paint);
    buffer_put_string(notes->table->out, text);
    pen_stop(&notes->table->pen, paint);
}

/* An Xid stays in the record for ever; on the row it is news for a day. */
static void note_xid(struct note_list *notes, const struct device *device)
{
    int64_t now = notes->table->view->now_unix_us, xid, when = 0;

    if (!shown_value(device, FIELD_XID_LAST, &xid))
        return;
    if (shown_value(device, FIELD_XID_LAST_UNIX_US, &when) && now - when >= DAY_US)
        return;
    begin_note(notes, PAINT_RED);
    buffer_put_string(notes->table->out, "Xid ");
    buffer_put_signed(notes->table->out, xid);
    if (when) {
        buffer_put_char(notes->table->out, ' ');
        time_put_since(notes->table->out, when, now);
    }
    pen_stop(&notes->table->pen, PAINT_RED);
}

static bool is_nonzero(const struct device *device, enum device_field field)
{
    int64_t value;

    return shown_value(device, field, &value) && value != 0;
}

static void note_health(struct note_list *notes, const struct device *device)
{
    const int64_t known = sizeof(recoveries) / sizeof(recoveries[0]);
    int64_t action;

    if (shown_value(device, FIELD_RECOVERY_ACTION, &action) && action > 0)
        add_note(notes, PAINT_RED, action < known ? recoveries[action] : "recovery required");
    if (is_nonzero(device, FIELD_REMAPPED_FAILED))
        add_note(notes, PAINT_RED, "row remap failed");
    if (is_nonzero(device, FIELD_REMAPPED_PENDING))
        add_note(notes, PAINT_YELLOW, "pending row remap");
    if (is_nonzero(device, FIELD_ECC_VOLATILE_UNCORRECTED))
        add_note(notes, PAINT_RED, "ECC errors");
}

static void note_throttling(struct note_list *notes, const struct device *device)
{
    int64_t reasons;

    if (!shown_value(device, FIELD_THROTTLE_REASONS, &reasons))
        return;
    for (size_t i = 0; i < sizeof(throttles) / sizeof(throttles[0]); i++) {
        /* The general bit comes with the two particular ones; saying it once is enough. */
        if (throttles[i].bit == 0x08 && reasons & 0xc0)
            continue;
        if (reasons & throttles[i].bit)
            add_note(notes, throttles[i].paint, throttles[i].text);
    }
}

/* A device that is read less often than it should be, on a node that is not known to be late itself. */
static void note_age(struct note_list *notes, const struct view_node *node, const struct device *device)
{
    uint64_t age =
        node->state == NODE_UP ? shown_age_us(node, device, GROUP_HOT) : device->group_age_us[GROUP_HOT];

    if (device->state != DEVICE_OK || age == AGE_NEVER || age <= SHOWN_OLD_US)
        return;
    begin_note(notes, PAINT_YELLOW);
    time_put_age_exact(notes->table->out, age);
    buffer_put_string(notes->table->out, " old");
    pen_stop(&notes->table->pen, PAINT_YELLOW);
}

static void note_state(struct note_list *notes, const struct device *device)
{
    switch (device->state) {
    case DEVICE_FAULT:
        add_note(notes, PAINT_RED, render_clustat_error(device->fault_code));
        break;
    case DEVICE_ASLEEP:
        add_note(notes, PAINT_FAINT, "asleep");
        break;
    case DEVICE_LEFT_OUT:
        add_note(notes, PAINT_RED, "driver call hangs");
        break;
    case DEVICE_REMOVED: /* the name column says it */
    case DEVICE_OK:
    case DEVICE_STATE_COUNT:
        break;
    }
}

void table_put_device_notes(struct table *table, const struct view_node *node, const struct device *device)
{
    struct note_list notes = {.table = table};

    note_state(&notes, device);
    note_age(&notes, node, device);
    note_xid(&notes, device);
    note_health(&notes, device);
    note_throttling(&notes, device);
    if (notes.open)
        buffer_put_char(table->out, ')');
}
