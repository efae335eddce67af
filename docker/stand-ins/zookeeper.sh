#!/bin/sh
# As the image's own: the variables become zoo.cfg, and the server runs as `zookeeper`.
set -e
if [ "$(id -u)" = 0 ]; then
	chown -R zookeeper /data /datalog
	exec setpriv --reuid zookeeper --regid zookeeper --init-groups "$0" "$@"
fi
if [ ! -e /conf/zoo.cfg ]; then
	printf '%s\n' dataDir=/data dataLogDir=/datalog \
		"tickTime=$ZOO_TICK_TIME" "initLimit=$ZOO_INIT_LIMIT" "syncLimit=$ZOO_SYNC_LIMIT" \
		"maxClientCnxns=$ZOO_MAX_CLIENT_CNXNS" "autopurge.purgeInterval=$ZOO_AUTOPURGE_PURGEINTERVAL" \
		"admin.enableServer=$ZOO_ADMINSERVER_ENABLED" "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST" \
		$ZOO_SERVERS $ZOO_CFG_EXTRA >/conf/zoo.cfg
fi
[ -e /data/myid ] || echo "$ZOO_MY_ID" >/data/myid
exec java "-Xmx${ZK_SERVER_HEAP}m" $SERVER_JVMFLAGS -Dzookeeper.jmx.log4j.disable=true \
	-cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
	org.apache.zookeeper.server.quorum.QuorumPeerMain /conf/zoo.cfg
