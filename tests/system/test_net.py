"""The network layer between hosts: net-probe (net_probe.c) in network namespaces."""
import time

import pytest

from netlab import BUILD, PATIENCE, Lab

PROBE = BUILD / 'tests' / 'system' / 'net-probe'
GROUP = '239.77.0.1:4077'


@pytest.fixture
def lab():
    made = Lab()
    try:
        yield made
    finally:
        made.close()


def udp(host, port):
    probe = host.start(PROBE, 'udp', port)
    probe.expect('ready')
    return probe


def multicast(host, *outbound, ttl=1, unicast=0, rescan=60000):
    probe = host.start(PROBE, 'multicast', GROUP, ttl, unicast, rescan, *outbound)
    probe.expect('ready')
    return probe


@pytest.fixture
def two_networks(lab):
    """A host on two networks, and a neighbour on each."""
    lab.switch('net1')
    lab.switch('net2')
    middle, left, right = lab.host(), lab.host(), lab.host()
    lab.plug(middle, 'eth1', 'net1', '10.1.0.1/24', 'fd00:1::1/64')
    lab.plug(middle, 'eth2', 'net2', '10.2.0.1/24', 'fd00:2::1/64')
    lab.plug(left, 'eth1', 'net1', '10.1.0.2/24', 'fd00:1::2/64')
    lab.plug(right, 'eth2', 'net2', '10.2.0.2/24', 'fd00:2::2/64')
    return middle, left, right


@pytest.mark.parametrize('asked', ['10.1.0.1', '10.2.0.1', '[fd00:1::1]', '[fd00:2::1]'])
def test_an_answer_leaves_from_the_address_that_was_asked(two_networks, asked):
    middle, left, _ = two_networks
    left.ip('route add 10.2.0.0/24 via 10.1.0.1')
    left.ip('-6 route add fd00:2::/64 via fd00:1::1')
    udp(middle, 30000)
    client = udp(left, 0)
    client.say('send %s:30000 echo hello' % asked)
    assert client.expect(r'got "hello" from (.*):30000 to .*').group(1) == asked


def test_link_local_neighbours_can_talk(lab):
    lab.switch('net1')
    a, b = lab.host(), lab.host()
    lab.plug(a, 'eth1', 'net1', 'fe80::a/64')
    lab.plug(b, 'eth1', 'net1', 'fe80::b/64')
    udp(a, 30000)
    client = udp(b, 0)
    client.say('send [fe80::a%eth1]:30000 echo hello')
    client.expect(r'got "hello" from \[fe80::a%eth1\]:30000 to \[fe80::b%eth1\]:\d+ by \d+')


def test_the_path_mtu_is_that_of_the_route(lab):
    lab.switch('net1')
    lab.switch('net2')
    host = lab.host()
    lab.plug(host, 'eth1', 'net1', '10.1.0.1/24', 'fd00:1::1/64', mtu=1400)
    lab.plug(host, 'eth2', 'net2', '10.2.0.1/24', mtu=9000)
    host.ip('route add 10.3.0.0/24 via 10.2.0.2 mtu 1300')
    assert host.run(PROBE, 'mtu', '10.1.0.9') == '1400\n'
    assert host.run(PROBE, 'mtu', '10.2.0.9') == '9000\n'
    assert host.run(PROBE, 'mtu', '10.3.0.9') == '1300\n'
    assert host.run(PROBE, 'mtu', 'fd00:1::9') == '1400\n'
    assert host.run(PROBE, 'mtu', '10.9.0.1') == '1200\n'  # no route


def test_the_group_is_heard_and_sent_to_on_each_interface(two_networks):
    middle, left, right = two_networks
    probe = multicast(middle, '10.1.0.1', '10.2.0.1')
    probes = [multicast(left, '10.1.0.2'), multicast(right, '10.2.0.2')]
    for one in probes:
        one.expect('joined .*')
    probe.expect('joined eth1 10.1.0.1 0')
    probe.expect('joined eth2 10.2.0.1 0')
    probe.say('send hello')
    probe.expect('sent 2')
    # From the group's port, and from the address of that interface.
    probes[0].expect(r'got "hello" from 10\.1\.0\.1:4077 to 239\.77\.0\.1:4077 by %d' % left.index('eth1'))
    probes[1].expect(r'got "hello" from 10\.2\.0\.1:4077 to 239\.77\.0\.1:4077 by %d' % right.index('eth2'))
    # And back: each once, by its own interface.
    for one, name, address, text in ((probes[0], 'eth1', '10.1.0.2', 'one'), (probes[1], 'eth2', '10.2.0.2', 'two')):
        one.say('send %s' % text)
        probe.expect(r'got "%s" from %s:4077 to 239\.77\.0\.1:4077 by %d' % (text, address, middle.index(name)))
    copies = [line for line in probe.seen if 'from 10.1.0.2' in line]
    assert len(copies) == 1, copies


def test_only_the_named_network_gets_anything(two_networks):
    middle, left, right = two_networks
    probe = multicast(middle, '10.1.0.1')
    both = multicast(middle, '10.1.0.1', '10.2.0.1')
    listeners = [multicast(left, '10.1.0.2'), multicast(right, '10.2.0.2')]
    for one in (probe, both, *listeners):
        one.expect('joined .*')
    probe.say('send narrow')
    listeners[0].expect('got "narrow" .*')
    both.say('send wide')
    listeners[1].expect('got "wide" .*')
    assert not [line for line in listeners[1].seen if 'narrow' in line]
    # What comes by the other network is not for the one that did not name it, though another program joined there.
    listeners[1].say('send stranger')
    both.expect('got "stranger" .*')
    listeners[0].say('send friend')
    probe.expect('got "friend" .*')
    assert not [line for line in probe.seen if 'stranger' in line]


def test_ttl_0_stays_on_the_host(two_networks):
    middle, left, _ = two_networks
    inward, outward, local = (multicast(middle, '10.1.0.1', ttl=0), multicast(middle, '10.1.0.1'),
                              multicast(middle, '10.1.0.1'))
    far = multicast(left, '10.1.0.2')
    for one in (inward, outward, local, far):
        one.expect('joined .*')
    inward.say('send inside')
    local.expect('got "inside" .*')
    outward.say('send outside')
    far.expect('got "outside" .*')
    assert not [line for line in far.seen if 'inside' in line]


def real_interfaces(host, *names):
    """Interfaces that count as hardware, without any: macvlans over a cable that leads nowhere."""
    host.ip('link add cable0 type veth peer name cable1')
    host.ip('link set cable0 up')
    host.ip('link set cable1 up')
    for name in names:
        host.ip('link add link cable0 name %s type macvlan mode bridge' % name)


def test_interfaces_are_chosen_by_kind(lab):
    lab.switch('net1')
    host = lab.host()
    lab.plug(host, 'veth9', 'net1', '10.1.0.1/24')
    real_interfaces(host, 'real0', 'real1', 'real2', 'port0')
    for line in ('addr add 10.2.0.1/24 dev real0', 'link set real0 up',
                 # A container bridge: only veths and overlays are its ports.
                 'link add docker0 type bridge', 'addr add 172.17.0.1/16 dev docker0', 'link set docker0 up',
                 'link add veth1 type veth peer name veth2', 'link set veth1 master docker0 up', 'link set veth2 up',
                 'link add vx0 type vxlan id 5 dstport 4789', 'link set vx0 master docker0 up',
                 # A bridge of a real network. Its port has an address of old times, which is not used.
                 'link add br0 type bridge', 'link set port0 master br0', 'link set port0 up',
                 'addr add 10.4.0.1/24 dev port0', 'addr add 10.3.0.1/24 dev br0', 'link set br0 up',
                 # Down, and without multicast.
                 'addr add 10.5.0.1/24 dev real1',
                 'addr add 10.6.0.1/24 dev real2', 'link set real2 up multicast off'):
        host.ip(line)
    # The kernel tells some time later that the bridge has a carrier.
    limit = time.monotonic() + PATIENCE
    while 'state UP' not in host.ip('link show br0') and time.monotonic() < limit:
        time.sleep(0.02)
    assert host.run(PROBE, 'interfaces').splitlines() == ['real0 10.2.0.1', 'br0 10.3.0.1', 'lo 127.0.0.1']


def test_there_is_a_cap_on_interfaces(lab):
    host = lab.host()
    names = ['m%d' % i for i in range(18)]
    real_interfaces(host, *names)
    for i, name in enumerate(names):
        host.ip('addr add 10.%d.0.1/24 dev %s' % (i, name))
        host.ip('link set %s up' % name)
    probe = multicast(host)
    for name in names[:16]:
        probe.expect('joined %s .*' % name)
    probe.expect('joined lo .*')
    probe.expect('left-out .* 2')
    probe.say('send x')
    probe.expect('sent 17')


def test_an_interface_that_appears_later_is_joined(lab):
    lab.switch('net1')
    late, other = lab.host(), lab.host()
    lab.plug(other, 'eth1', 'net1', '10.1.0.2/24')
    neighbour = multicast(other, '10.1.0.2')
    probe = multicast(late, '10.1.0.1')
    probe.expect('no-outbound .* 1')
    lab.plug(late, 'eth1', 'net1', '10.1.0.1/24')
    probe.expect('joined eth1 10.1.0.1 0', patience=3)  # told by the kernel, not found by the slow re-scan
    neighbour.say('send hello')
    probe.expect('got "hello" .*')
    for gone, back in (('link set eth1 down', 'link set eth1 up'),
                       ('addr del 10.1.0.1/24 dev eth1', 'addr add 10.1.0.1/24 dev eth1')):
        late.ip(gone)
        probe.expect('left eth1 10.1.0.1 0', patience=3)
        late.ip(back)
        probe.expect('joined eth1 10.1.0.1 0', patience=3)
        probe.say('send again')
        neighbour.expect('got "again" from 10.1.0.1:4077 .*')
    late.ip('link del eth1')
    probe.expect('left eth1 .*', patience=3)
    lab.plug(late, 'eth7', 'net1', '10.1.0.1/24')
    probe.expect('joined eth7 10.1.0.1 0', patience=3)


def test_a_join_that_fails_is_told_once_and_tried_again(two_networks):
    middle, _, _ = two_networks
    middle.sysctl('net.ipv4.igmp_max_memberships', 0)
    probe = multicast(middle, '10.1.0.1', rescan=20)
    probe.expect('join-failed eth1 10.1.0.1 -105')  # ENOBUFS
    for name in ('x1', 'x2', 'x3'):  # each change makes it try again, and the re-scan does
        middle.ip('link add %s type bridge' % name)
    middle.sysctl('net.ipv4.igmp_max_memberships', 20)
    probe.expect('joined eth1 10.1.0.1 0')
    assert len([line for line in probe.seen if line.startswith('join-failed')]) == 1


@pytest.mark.parametrize('number', [0, 1])
def test_an_answer_to_a_probe_comes_back_to_the_one_that_asked(two_networks, number):
    """Two askers on a host: the first owns the group's port, the second asks from another one."""
    middle, left, _ = two_networks
    responder = multicast(left, '10.1.0.2')
    askers = [multicast(middle, '10.1.0.1', unicast=1) for _ in range(2)]
    askers[1].expect('port-shared .*')
    for one in (responder, *askers):
        one.expect('joined .*')
    askers[number].say('send who?')
    port = int(responder.expect(r'got "who\?" from 10\.1\.0\.1:(\d+) .*').group(1))
    assert (port == 4077) == (number == 0)
    responder.say('send-to 10.1.0.1:%d me' % port)
    askers[number].expect(r'got "me" from 10\.1\.0\.2:4077 to 10\.1\.0\.1:%d .*' % port)
    # What both get afterwards shows that the other one did not.
    responder.say('send all')
    askers[1 - number].expect('got "all" .*')
    assert not [line for line in askers[1 - number].seen if '"me"' in line]


def test_unicast_to_the_port_goes_to_its_owner(two_networks):
    """Also where programs that only listen to the group (servers) share it; a new owner follows the old one."""
    middle, left, _ = two_networks
    announcer = multicast(left, '10.1.0.2')
    before = multicast(middle, '10.1.0.1')
    owner = multicast(middle, '10.1.0.1', unicast=1)
    heir = multicast(middle, '10.1.0.1', unicast=1, rescan=20)
    after = multicast(middle, '10.1.0.1')
    for one in (announcer, before, owner, heir, after):
        one.expect('joined .*')
    announcer.say('send-to 10.1.0.1:4077 here')
    owner.expect(r'got "here" from 10\.1\.0\.2:4077 to 10\.1\.0\.1:4077 .*')
    owner.close()
    for _ in range(100):  # until the heir's next re-scan
        announcer.say('send-to 10.1.0.1:4077 later')
        try:
            heir.expect('got "later" .*', patience=0.1)
            break
        except AssertionError:
            pass
    else:
        raise AssertionError('the port was not taken over: %r' % heir.seen)
    announcer.say('send all')
    for one in (before, after):
        one.expect('got "all" .*')
        assert not [line for line in one.seen if 'here' in line or 'later' in line]
